// Which settings of two models differ, and from which distance on it matters.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compare.hpp"
#include "program/inspect/model_json.hpp"
#include "program/models/reading.hpp"
#include "program/models/words.hpp"
#include "program/options.hpp"

namespace compare {
namespace {

using nlohmann::ordered_json;
using charts::counted;
using charts::grouped;
using program::print_wrapped;
using program::rounded;
using program::shown_layers;

struct options {
  std::string a, b;
  std::optional<std::size_t> length;
  double threshold = comparing::compare_options().threshold;
  bool as_llama = false;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("A", o.a, "a config.json, a GGUF file, or the name of a model of inspect --list")
      ->required();
  app.add_option("B", o.b, "another one")->required();
  program::add_number(app, "--length", o.length,
                      "tokens of the sequence (default the smaller context, else 4096)", std::int64_t{1},
                      std::int64_t{1} << 32);
  program::add_number(app, "--threshold", o.threshold,
                      "least difference of scores that is told, relative to |q| |k|; the default "
                      "2^-8 is half an ULP of bfloat16",
                      "T");
  program::declare_as_llama(app, o.as_llama);
  program::declare_json(app, o.outputs);
}

std::string quoted(std::string const& value) { return value.empty() ? "nothing" : value; }

void print(std::ostream& os, std::vector<comparing::field_difference> const& fields,
           std::string const& indent) {
  for (auto const& [field, a, b] : fields)
    print_wrapped(os, indent + field + ": ", quoted(a) + " / " + quoted(b));
}

void print_scores(std::ostream& os, comparing::layer_comparison const& found, double threshold) {
  auto const share = rounded(threshold) + " of |q| |k|";
  if (!found.matters_from) {
    print_wrapped(os, "    ",
                  "No score differs by more than " + share + " within " +
                      grouped(static_cast<std::size_t>(found.scores.back().distance) + 1) +
                      " tokens.");
  } else {
    print_wrapped(os, "    ",
                  "From distance " + grouped(static_cast<std::size_t>(*found.matters_from)) +
                      " on, a score may differ by more than " + share + ".");
  }
  print_wrapped(os, "    ",
                "angle: the largest difference of angles. at worst: the largest difference of "
                "scores, relative to |q| |k|. Gaussian: the rms difference of scores of Gaussian q "
                "and k, relative to the rms score.");
  char line[120];
  std::snprintf(line, sizeof line, "      %12s  %14s  %10s  %10s\n", "distance", "angle, rad",
                "at worst", "Gaussian");
  os << line;
  for (auto const& [distance, angle, worst, gaussian] : found.scores) {
    std::snprintf(line, sizeof line, "      %12s  %14s  %10s  %10s\n",
                  grouped(static_cast<std::size_t>(distance)).c_str(),
                  angle ? rounded(*angle).c_str() : "other dims", rounded(worst).c_str(),
                  rounded(gaussian).c_str());
    os << line;
  }
}

void print(std::ostream& os, std::string const& a, std::string const& b,
           comparing::model_comparison const& comparison, double threshold) {
  os << a << " / " << b << '\n';
  print(os, comparison.fields, "  ");
  if (comparison.equal_layers != 0)
    print_wrapped(os, "  ", counted(comparison.equal_layers, "layer") + " encode positions alike.");
  for (auto const& [layers, difference] : comparison.layers) {
    os << '\n';
    print_wrapped(os, "  ", counted(layers.size(), "layer") + ": " + shown_layers(layers));
    print(os, difference.fields, "    ");
    if (!difference.scores.empty()) print_scores(os, difference, threshold);
  }
}

ordered_json json_of(std::vector<comparing::field_difference> const& fields) {
  auto list = ordered_json::array();
  for (auto const& one : fields) list.push_back({{"field", one.field}, {"a", one.a}, {"b", one.b}});
  return list;
}

void print_json(std::ostream& os, std::string const& a, std::string const& b,
                comparing::model_comparison const& comparison) {
  ordered_json object{{"a", a},
                      {"b", b},
                      {"fields", json_of(comparison.fields)},
                      {"equal_layers", comparison.equal_layers},
                      {"layers", ordered_json::array()}};
  for (auto const& [layers, difference] : comparison.layers) {
    auto scores = ordered_json::array();
    for (auto const& score : difference.scores) {
      scores.push_back({{"distance", score.distance},
                        {"angle", model_json::json_or_null(score.angle)},
                        {"worst", score.worst},
                        {"gaussian", score.gaussian}});
    }
    object["layers"].push_back({{"layers", layers},
                                {"fields", json_of(difference.fields)},
                                {"matters_from", model_json::json_or_null(difference.matters_from)},
                                {"scores", std::move(scores)}});
  }
  os << object.dump(2) << '\n';
}

void run(options const& o) {
  auto const found =
      comparing::compare(program::read_model(o.a, o.as_llama), program::read_model(o.b, o.as_llama),
                         {.threshold = o.threshold, .length = o.length});
  auto const name_of = [](std::string const& file) {
    return std::filesystem::path(file).filename().string();
  };
  if (o.outputs.json)
    print_json(std::cout, name_of(o.a), name_of(o.b), found);
  else
    print(std::cout, name_of(o.a), name_of(o.b), found, o.threshold);
}

}  // namespace

extern "C" int compare_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc compare",
       "Shows the settings that differ between two models, layer by layer, the distance from which "
       "their scores differ, and by how much.",
       {{{"llama-3.1-8b llama-2-7b", "two models that posenc holds"},
         {"gemma-3-27b gemma-2-9b --length 32k --json", "at a length, for programs"}}}},
      declare, run);
}

}  // namespace compare
