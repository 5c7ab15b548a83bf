#include "program/options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "reporting/text.hpp"

namespace program {
namespace {

constexpr auto largest_seed = std::int64_t{1'000'000'000'000};

// A text of --help in lines of 80 columns, what options say in a column of its own.
std::string folded(std::string const& help) {
  constexpr std::size_t width = 80, says = 30;
  std::string result;
  for (std::size_t at = 0; at < help.size();) {
    auto const end = std::min(help.find('\n', at), help.size());
    auto line = help.substr(at, end - at);
    at = end + 1;
    auto const indent =
        line.starts_with("  -") || line.starts_with(std::string(says, ' ')) ? says : 0;
    auto const more = indent != 0 ? indent : std::min(line.find_first_not_of(' '), line.size());
    while (line.size() > width) {
      auto const cut = line.find_last_of(' ', width);
      if (cut == line.npos || cut <= more) break;
      result += line.substr(0, cut) + '\n';
      line = std::string(more, ' ') + line.substr(cut + 1);
    }
    result += line + '\n';
  }
  return result;
}

// An option that there is not, before an argument that is missing.
void refuse_unknown(CLI::App const& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (auto const* option : app.get_options())
    for (auto const& name : option->get_lnames()) names.push_back("--" + name);
  for (int i = 1; i < argc && argv[i] != std::string_view("--"); ++i) {
    auto const given = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
    if (given.starts_with("--") && !std::ranges::count(names, given))
      throw std::runtime_error(
          there_is_no("option", given, names, "see " + app.get_name() + " --help"));
  }
}

}  // namespace

std::string with_zeros(std::string const& text) {
  constexpr std::string_view letters = "kMG";
  char* end = nullptr;
  auto const number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end == 0 || end[1] != 0 || letters.find(*end) == letters.npos)
    return text;
  auto const value = number * std::pow(1000.0, 1 + static_cast<double>(letters.find(*end)));
  char shown[40];
  std::snprintf(shown, sizeof shown, value == std::round(value) ? "%.0f" : "%.17g", value);
  return shown;
}

CLI::Validator one_of(std::vector<std::string> const& names) {
  return CLI::Validator(
      [names](std::string& given) -> std::string {
        if (std::ranges::count(names, given)) return {};
        auto const near = nearest(given, names);
        return "must be one of " + charts::joined(names) + ", got " + given +
               (near.empty() ? "" : "; the nearest is " + near);
      },
      "", "one_of");
}

std::string default_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, " (default %.15g)", value);
  return value == 0 ? "" : text;
}

void declare_svg(CLI::App& app, outputs& o) {
  app.add_option("--svg", o.svg, "write the pictures to FILE")->option_text("FILE");
}
void declare_csv(CLI::App& app, outputs& o, std::string const& says) {
  app.add_option("--csv", o.csv, "write the numbers to FILE" + says)->option_text("FILE");
}
void declare_columns(CLI::App& app, outputs& o, int least) {
  add_number(app, "--columns", o.columns, "width of the text (default that of the terminal)", least,
             charts::most_columns);
}
void declare_json(CLI::App& app, outputs& o, std::string const& says) {
  app.add_flag("--json", o.json, "print JSON, for programs" + says);
}
void declare_as_llama(CLI::App& app, bool& as_llama) {
  app.add_flag("--as-llama", as_llama, "read an unknown model as a Llama, instead of refusing it");
}
void declare_outputs(CLI::App& app, outputs& o) {
  declare_csv(app, o);
  declare_svg(app, o);
  declare_columns(app, o);
}
CLI::Option* declare_seed(CLI::App& app, std::optional<std::uint64_t>& seed) {
  return add_number(app, "--seed", seed, "seed of the random numbers (default 1)", std::int64_t{0},
                    largest_seed);
}
CLI::Option* declare_seed(CLI::App& app, std::uint64_t& seed) {
  return add_number(app, "--seed", seed, "seed of the random numbers", std::int64_t{0},
                    largest_seed);
}
CLI::Option* declare_head_dim(CLI::App& app, std::size_t& head_dim, std::string const& says) {
  return add_number(app, "--head-dim", head_dim, says, 2, 4096);
}
CLI::Option* declare_base(CLI::App& app, double& base) {
  return add_number(app, "--base", base, "base of the frequencies", 1.0, 1e12, "B");
}

charts::terminal_style checked(outputs const& o) {
  reporting::check_writable({o.csv, o.svg});
  auto style = charts::detect(stdout);
  if (o.columns > 0) style.columns = o.columns;
  return style;
}

std::string message_of(std::exception const& error) {
  std::string text = error.what();
  for (std::string_view const part :
       {"posenc: ", ", unless unknown_model::as_llama is asked for"}) {
    if (auto const at = text.find(part); at != text.npos) text.erase(at, part.size());
  }
  return text;
}

void refuse_unread(CLI::App const& app, std::string const& option, bool read,
                   std::string const& says) {
  if (!read && app.count(option) > 0) throw std::runtime_error(option + " is not read: " + says);
}

bool parse(CLI::App& app, verb_help const& help, int argc, char** argv, bool prints) {
  std::string footer = "Examples:";
  for (auto const& [arguments, says] : help.examples)
    footer += "\n  " + (arguments.find("posenc") == arguments.npos ? help.name + " " : "") +
              arguments + "\n      " + says;
  app.footer(footer);
  refuse_unknown(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    if (prints) std::cout << folded(app.help());
    reporting::check_written();
    return false;
  } catch (CLI::ExtrasError const&) {
    throw std::runtime_error("there is no place for " + app.remaining().front() + "; see " +
                             help.name + " --help");
  }
  return true;
}

}  // namespace program
