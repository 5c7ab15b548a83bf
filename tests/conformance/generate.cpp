// Writes the conformance set, or compares one with what it would write.
//
//     generate DIRECTORY            writes NAME.json in DIRECTORY/attention, cases and steps
//     generate --compare DIRECTORY  fails unless exactly these files are there, byte for byte
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "attention_cases.hpp"
#include "model_cases.hpp"
#include "rotary_cases.hpp"
#include "score_cases.hpp"
#include "step_cases.hpp"

int main(int argc, char** argv) {
  bool const compare = argc == 3 && std::string(argv[1]) == "--compare";
  if (argc != 2 && !compare) return std::fputs("generate [--compare] DIRECTORY\n", stderr), 2;
  std::filesystem::path const directory = argv[argc - 1];
  std::map<std::string, std::string> files;
  auto const add = [&](std::string const& name, std::string const& text,
                       char const* folder = "cases/") {
    if (!files.emplace(folder + name + ".json", text).second)
      std::fprintf(stderr, "two cases are called %s\n", name.c_str()), std::exit(2);
  };
  for (auto const& one : conformance::rotary_cases()) add(one.name, written(one));
  for (auto const& one : conformance::model_cases()) add(one.name, written(one));
  for (auto const& one : conformance::score_cases()) add(one.name, one.file.line());
  for (auto const& one : conformance::format_cases()) add(one.name, one.file.line(), "steps/");
  for (auto const& one : conformance::norm_cases()) add(one.name, one.file.line(), "steps/");
  for (auto const& one : conformance::attention_cases())
    add(one.name, one.file.line(), "attention/");
  if (!compare) {
    for (auto const& [name, text] : files)
      std::ofstream(directory / name, std::ios::binary) << text;
    return 0;
  }
  int differing = 0;
  auto const differs = [&](std::string const& name, char const* how) {
    std::fprintf(stderr, "%s %s\n", name.c_str(), how), ++differing;
  };
  for (auto const& [name, text] : files) {
    std::ifstream file(directory / name, std::ios::binary);
    if (!file) {
      differs(name, "is missing");
    } else if (std::string(std::istreambuf_iterator<char>(file), {}) != text) {
      differs(name, "is not what the formulas give");
    }
  }
  for (std::string const folder : {"attention/", "cases/", "steps/"}) {
    for (auto const& file : std::filesystem::directory_iterator(directory / folder)) {
      auto const name = folder + file.path().filename().string();
      if (!files.contains(name)) differs(name, "is of no case");
    }
  }
  std::printf("%zu cases, %d differ\n", files.size(), differing);
  return differing == 0 ? 0 : 1;
}
