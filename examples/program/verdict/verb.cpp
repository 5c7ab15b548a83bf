// The mistakes that engines are known to make on a model, and their errors; where a GGUF file and
// its config.json disagree.
#include <exception>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "program/models/reading.hpp"
#include "program/options.hpp"
#include "report.hpp"

namespace verdict {
namespace {

struct options {
  std::vector<std::string> files;
  bool as_llama = false;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("FILE", o.files,
                 "a config.json, a GGUF file, or the name of a model of posenc inspect --list; or a "
                 "GGUF file and its config.json")
      ->required()
      ->expected(1, 2)
      ->option_text("[FILE]");
  program::declare_as_llama(app, o.as_llama);
  program::declare_json(app, o.outputs);
}

std::string name_of(std::string const& file) {
  return std::filesystem::path(file).filename().string();
}

// A model, or a GGUF file and its config.json.
struct checked {
  std::vector<std::string> names;
  posenc::model_description model;
  verdicts::verdict found;
  std::string what = "mistake", conclusion = conclusion_of(found);
};

checked checked_files(options const& o) {
  auto file = o.files.front();
  if (o.files.size() == 1) {
    auto const model = program::read_model(file, o.as_llama);
    return {.names = {name_of(file)}, .model = model, .found = verdicts::verdict_on(model)};
  }
  auto gguf = o.files.back();
  auto of_file = program::read_model_file(file, o.as_llama),
       of_other = program::read_model_file(gguf, o.as_llama);
  if (of_file.is_gguf) std::swap(file, gguf), std::swap(of_file, of_other);
  if (of_file.is_gguf || !of_other.is_gguf)
    throw std::runtime_error("two files must be a GGUF file and its config.json");
  auto const &model = of_file.model, &of_gguf = of_other.model;
  auto const found = comparing::disagreement({name_of(file), model}, {name_of(gguf), of_gguf});
  std::set<std::string> settings;
  for (auto const& one : found.pitfalls) settings.insert(one.says);
  auto const count = settings.size();
  return {{name_of(file), name_of(gguf)},
          model,
          found,
          "difference",
          count == 0 ? "Both files say the same."
                     : "The files differ in " + std::to_string(count) +
                           (count == 1 ? " setting." : " settings.")};
}

// The exit status.
int run(options const& o) {
  try {
    auto const [names, model, found, what, conclusion] = checked_files(o);
    if (o.outputs.json) {
      nlohmann::ordered_json object{{"file", names.front()}};
      if (names.size() == 2) object["gguf"] = names.back();
      object.update(json_of(found, model));
      std::cout << object.dump(2) << '\n';
    } else {
      auto const title = names.size() == 2 ? names.front() + ", " + names.back() : names.front();
      print(std::cout, title, model, found, what, conclusion);
    }
    return found.pitfalls.empty() ? 0 : 2;
  } catch (std::exception const& error) {
    if (!o.outputs.json) throw;
    nlohmann::ordered_json const object{{"file", name_of(o.files.front())},
                                        {"verdict", "refused"},
                                        {"error", program::message_of(error)}};
    std::cout << object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << '\n';
    return 1;
  }
}

}  // namespace

extern "C" int verdict_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc verdict",
       "Lists the mistakes that engines are known to make on a model, with the threads that report "
       "them and the errors that they cause; or the settings in which a GGUF file and its "
       "config.json differ, and what llama.cpp computes. Exit status 0: the list is empty. 1: a "
       "file is refused. 2: the list has entries.",
       {{{"gemma-3-27b", "the mistakes that engines make on a model that posenc holds"},
         {"model.gguf config.json --json", "the differences of two files, for programs"}}}},
      declare, run);
}

}  // namespace verdict
