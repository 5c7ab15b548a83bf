// What the main of every example does around its own work: options, files, errors. Needs CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reporting/files.hpp"
#include "reporting/terminal_chart.hpp"

namespace reporting {

/// Files beside the text, and how wide the text is; names are empty, and columns 0, unless given.
struct outputs {
  std::string csv, svg;
  int columns = 0;
};

inline void declare_svg(CLI::App& app, outputs& o) {
  app.add_option("--svg", o.svg, "write the pictures to FILE")->option_text("FILE");
}
inline void declare_csv(CLI::App& app, outputs& o, std::string const& says = {}) {
  app.add_option("--csv", o.csv, "write the numbers to FILE" + says)->option_text("FILE");
}
inline void declare_columns(CLI::App& app, outputs& o, int least = 62) {
  app.add_option("--columns", o.columns, "width of the text (that of the terminal, or 100)")
      ->check(CLI::Range(least, charts::most_columns))
      ->option_text("N");
}

/// Before the work: how to draw on the standard output. Throws std::runtime_error if a file cannot
/// be written.
inline charts::terminal_style checked(outputs const& o) {
  check_writable({o.csv, o.svg});
  auto style = charts::detect(stdout);
  if (o.columns > 0) style.columns = o.columns;
  return style;
}

/// Without the name of the library, and what it says to C++ alone.
inline std::string message_of(std::exception const& error) {
  std::string text = error.what();
  for (std::string_view const part :
       {"posenc: ", ", unless unknown_model::as_llama is asked for"}) {
    if (auto const at = text.find(part); at != text.npos) text.erase(at, part.size());
  }
  return text;
}

/// For a callback of the options: an option that is given and that nothing reads is an error.
/// `read`: something does; `says`: what would.
inline void refuse_unread(CLI::App const& app, std::string const& option, bool read,
                          std::string const& says) {
  if (!read && app.count(option) > 0) throw std::runtime_error(option + " is not read: " + says);
}

/// A text of --help in lines of 80 columns, what options say in a column of its own.
inline std::string folded_help(std::string const& help) {
  constexpr std::size_t width = 80, says = 30;
  std::string folded;
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
      folded += line.substr(0, cut) + '\n';
      line = std::string(more, ' ') + line.substr(cut + 1);
    }
    folded += line + '\n';
  }
  return folded;
}

struct example {
  std::string command, says;
};

/// --help of the program ends with them.
inline void add_examples(CLI::App& app, std::string const& program,
                         std::vector<example> const& examples) {
  std::string footer = examples.size() == 1 ? "Example:" : "Examples:";
  for (auto const& e : examples)
    footer += "\n  " + program + (e.command.empty() ? "" : " " + e.command) + "\n      " + e.says;
  app.footer(footer);
}

/// What main returns: the answer of run(o), or 0 if it has none; 0 for --help; 1 for an error,
/// which is one line on the standard error, as where there is no standard output or it is full.
/// declare(app, o) adds the options, which are read into o, and run(o) does the work; --help ends
/// with the examples.
template <class Options>
int run_program(int argc, char** argv, std::string const& says,
                std::vector<example> const& examples, auto const& declare, auto const& run) {
  std::string_view const path = argv[0];
  std::string const name(path.substr(path.find_last_of('/') + 1));
  try {
    check_standard_output();
    CLI::App app(says, name);
    add_examples(app, name, examples);
    Options o;
    declare(app, o);
    try {
      app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
      std::cout << folded_help(app.help());
      check_written();
      return 0;
    }
    int result = 0;
    if constexpr (std::is_void_v<decltype(run(o))>) {
      run(o);
    } else {
      result = run(o);
    }
    check_written();
    return result;
  } catch (std::exception const& error) {
    std::cerr << name << ": " << message_of(error) << '\n';
    return 1;
  }
}

}  // namespace reporting
