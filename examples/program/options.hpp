// What a verb does around its own work: options, files, errors. Needs CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "program/nearest.hpp"
#include "reporting/files.hpp"
#include "reporting/terminal_chart.hpp"

namespace program {

/// The text of a number as charts write it, 500k or 1.5M, with its zeros written out: 500000. A
/// text that is no such number stays as it is.
std::string with_zeros(std::string const& text);

/// " (default 128)"; nothing for 0, which stands for a default that `says` must say.
std::string default_of(double value);

/// An option that takes a number, also as charts write it. `says` begins with a noun; the default
/// is added to it.
template <class T>
CLI::Option* add_number(CLI::App& app, std::string const& name, T& value, std::string says,
                        std::string const& shown = "N") {
  if constexpr (std::is_arithmetic_v<T>) says += default_of(static_cast<double>(value));
  return app.add_option(name, value, says)
      ->transform(CLI::Validator(
          [](std::string& text) {
            text = with_zeros(text);
            return std::string();
          },
          "", "as charts write it"))
      ->option_text(shown);
}
/// A number from `least` to `most`.
template <class T, class Least, class Most>
CLI::Option* add_number(CLI::App& app, std::string const& name, T& value, std::string const& says,
                        Least least, Most most, std::string const& shown = "N") {
  using bound = std::common_type_t<Least, Most>;
  return add_number(app, name, value, says, shown)
      ->check(CLI::Range(static_cast<bound>(least), static_cast<bound>(most)));
}

/// Refuses a value that is none of the names, and says which name is nearest.
CLI::Validator one_of(std::vector<std::string> const& names);

/// Files besides the text, and how wide the text is; names are empty, and columns 0, unless given.
struct outputs {
  std::string csv = {}, svg = {};
  int columns = 0;
  bool json = false;
};

// The options that several verbs have.
void declare_svg(CLI::App& app, outputs& o);
void declare_csv(CLI::App& app, outputs& o, std::string const& says = {});
void declare_columns(CLI::App& app, outputs& o, int least = 62);
void declare_json(CLI::App& app, outputs& o, std::string const& says = {});
void declare_as_llama(CLI::App& app, bool& as_llama);
/// --csv, --svg and --columns.
void declare_outputs(CLI::App& app, outputs& o);
CLI::Option* declare_seed(CLI::App& app, std::optional<std::uint64_t>& seed);
CLI::Option* declare_seed(CLI::App& app, std::uint64_t& seed);
CLI::Option* declare_head_dim(CLI::App& app, std::size_t& head_dim, std::string const& says);
CLI::Option* declare_base(CLI::App& app, double& base);

/// Before the work: how to draw on the standard output. Throws std::runtime_error if a file cannot
/// be written.
charts::terminal_style checked(outputs const& o);

/// After the text: the files that are asked for, by write_csv(stream) and to_svg().
void write(outputs const& o, auto const& write_csv, auto const& to_svg) {
  std::cout.flush();
  reporting::write_file(o.csv, [&](std::ostream& file) { write_csv(file); });
  reporting::write_file(o.svg, [&](std::ostream& file) { file << to_svg(); });
}

/// The error's sentence, but for the name of the library and for what speaks to C++ alone.
std::string message_of(std::exception const& error);

/// For a callback of the options: an option that is given and that nothing reads is an error.
/// `read`: something does; `says`: what would.
void refuse_unread(CLI::App const& app, std::string const& option, bool read,
                   std::string const& says);

struct example {
  std::string arguments, says;
};

/// How a verb is called, what it does, and the two examples that end its --help. An example is what
/// stands behind the name, or a whole command where it names posenc.
struct verb_help {
  std::string name, says;
  std::array<example, 2> examples;
  int status_of_errors = 1;
};

/// Parses the arguments of a verb, argv[0] being its name. False if people asked for help, which is
/// printed if `prints`. Throws std::runtime_error for an option that there is not, with the nearest
/// one.
bool parse(CLI::App& app, verb_help const& help, int argc, char** argv, bool prints = true);

/// The exit status: the answer of work(), or status_of_errors for an error, which is one line on
/// the standard error. A standard output that is closed or full is an error too.
int guarded(std::string const& name, auto const& work, int status_of_errors = 1) {
  try {
    reporting::check_standard_output();
    int const result = work();
    reporting::check_written();
    return result;
  } catch (std::exception const& error) {
    std::cerr << name << ": " << message_of(error) << '\n';
    return status_of_errors;
  }
}

/// The whole of a verb: declare(app, o) adds the options, which are read into o, and run(o) does
/// the work. Returns the exit status: the answer of run(o), or 0 if it has none.
template <class Options>
int run_verb(int argc, char** argv, verb_help const& help, auto const& declare, auto const& run) {
  auto const work = [&] {
    CLI::App app(help.says, help.name);
    Options o;
    declare(app, o);
    if (!parse(app, help, argc, argv)) return 0;
    if constexpr (std::is_void_v<decltype(run(o))>) {
      run(o);
      return 0;
    } else {
      return static_cast<int>(run(o));
    }
  };
  return guarded(help.name, work, help.status_of_errors);
}

}  // namespace program
