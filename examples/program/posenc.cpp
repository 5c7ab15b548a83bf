#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/version.hpp"
#include "program/options.hpp"
#include "program/verbs.hpp"

namespace {

constexpr auto without_models = "this posenc was built without nlohmann-json, which reads models";

void print_help() {
  std::cout << "posenc answers questions about positional encodings: of models, of files, of\n"
               "your own queries and keys.\n\n"
               "Usage: posenc VERB [OPTIONS]\n\n";
  auto const row = [](std::string_view question, std::string const& verb) {
    std::cout << "  " << std::left << std::setw(58) << question << verb << '\n';
  };
  row("question", "verb");
  bool some_are_absent = false;
  for (auto const& v : program::verbs()) {
    row(v.question, std::string(v.name) + (v.run == nullptr ? " (absent)" : ""));
    some_are_absent = some_are_absent || v.run == nullptr;
  }
  if (some_are_absent) std::cout << "\nabsent: " << without_models << ".\n";
  std::cout << "\nposenc VERB --help lists the options of a verb. posenc --version prints the\n"
               "version.\n";
}

void run(std::string const& name) {
  if (name == "--help" || name == "-h") return print_help();
  if (name == "--version") {
    std::cout << "posenc " << POSENC_VERSION_MAJOR << '.' << POSENC_VERSION_MINOR << '.'
              << POSENC_VERSION_PATCH << '\n';
    return;
  }
  if (name.empty()) throw std::runtime_error("a verb must be given; see posenc --help");
  std::vector<std::string> names;
  for (auto const& v : program::verbs()) names.emplace_back(v.name);
  throw std::runtime_error(program::there_is_no(name.starts_with('-') ? "option" : "verb", name,
                                                names, "see posenc --help"));
}

}  // namespace

int program::answer(int argc, char** argv) {
  std::string const name = argc > 1 ? argv[1] : "";
  for (auto const& v : verbs()) {
    if (v.name != name) continue;
    if (v.run != nullptr) return v.run(argc - 1, argv + 1);
    return guarded(
        "posenc " + name, []() -> int { throw std::runtime_error(without_models); },
        v.status_of_errors);
  }
  return guarded("posenc", [&] { return run(name), 0; });
}
