// Which rule, with which parameters, made a table of frequencies.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "identify.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/longrope.hpp"
#include "program/inspect/model_json.hpp"
#include "program/models/reading.hpp"
#include "program/models/words.hpp"
#include "program/options.hpp"

namespace identify {
namespace {

using nlohmann::ordered_json;
using charts::counted;
using charts::joined;
using program::number_table;
using program::print_wrapped;
using program::rounded;

struct options {
  std::string file;
  std::optional<double> base;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("FILE", o.file,
                 "file of numbers, as text or JSON, or GGUF file with tensors of factors")
      ->required();
  program::add_number(app, "--base", o.base, "base that is expected", "B");
  program::declare_json(app, o.outputs);
}

struct identified_table {
  std::string name;
  identifying::identification found;
};

std::string exact(double x) {
  char text[32];
  for (int digits = 6; digits < 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    if (std::abs(std::atof(text) - x) <= 1e-12 * std::abs(x)) break;
  }
  return text;
}

std::string shown(std::vector<identifying::rule_parameter> const& parameters) {
  std::vector<std::string> texts;
  for (auto const& p : parameters)
    texts.push_back(p.name + " " + (p.value ? exact(*p.value) : "any"));
  return joined(texts);
}

std::string shown_error(identifying::frequency_explanation const& told) {
  char text[64];
  if (told.within_rounding) {
    std::snprintf(text, sizeof text, "within rounding, off by %.1g", told.relative_error);
  } else {
    std::snprintf(text, sizeof text, "off by %.2g %%", 100 * told.relative_error);
  }
  return text;
}

void print_best(std::ostream& os, identifying::frequency_explanation const& best) {
  auto const line = [&](std::string const& text) { print_wrapped(os, "  ", text); };
  line(best.rule + ": " + shown(best.parameters) + "; " + shown_error(best) + ".");
  if (!best.factors.empty()) {
    std::vector<std::string> factors;
    for (auto const x : best.factors) factors.push_back(rounded(x));
    print_wrapped(os, "    factors ", joined(factors));
  }
}

void print(std::ostream& os, std::string const& table, std::size_t numbers,
           identifying::identification const& found) {
  char rounding[32];
  std::snprintf(rounding, sizeof rounding, "%.2g", found.unit_roundoff);
  os << table << ": " << counted(numbers, "number") << ", rounded to " << rounding << '\n';
  print_best(os, found.best());
  bool is_first = true;
  for (std::size_t i = 1; i < found.explanations.size(); ++i) {
    auto const& other = found.explanations[i];
    if (other.rule == "divided_by_factors" || (!other.within_rounding && other.relative_error > 10))
      continue;
    print_wrapped(os, is_first ? "  else " : "       ",
                  other.rule + ": " + shown(other.parameters) + "; " + shown_error(other));
    is_first = false;
  }
}
ordered_json json_of(std::vector<identifying::rule_parameter> const& parameters) {
  auto object = ordered_json::object();
  for (auto const& p : parameters) object[p.name] = model_json::json_or_null(p.value);
  return object;
}

ordered_json json_of(identifying::frequency_explanation const& told) {
  ordered_json object{{"rule", told.rule},
                      {"parameters", json_of(told.parameters)},
                      {"within_rounding", told.within_rounding},
                      {"relative_error", told.relative_error}};
  if (!told.factors.empty()) object["factors"] = told.factors;
  return object;
}

void print_json(std::ostream& os, std::vector<identified_table> const& tables) {
  auto list = ordered_json::array();
  for (auto const& [name, found] : tables) {
    ordered_json object{{"table", name},
                        {"unit_roundoff", found.unit_roundoff},
                        {"explanations", ordered_json::array()}};
    for (auto const& one : found.explanations) object["explanations"].push_back(json_of(one));
    list.push_back(std::move(object));
  }
  os << list.dump(2) << '\n';
}

identifying::identification identified(number_table const& table, std::optional<double> expected) {
  auto const& numbers = table.numbers;
  if (table.base) {
    auto const base = expected.value_or(*table.base);
    auto const f = posenc::divided_by_factors(posenc::geometric(2 * numbers.size(), base), numbers);
    return identifying::identify(f.inv_freq(), {.base = base, .unit_roundoff = 0x1p-24});
  }
  auto const is_rule = [](identifying::identification const& found) {
    return found.best().within_rounding && found.best().rule != "divided_by_factors";
  };
  auto exact = identifying::identify(numbers, {.base = expected});
  if (is_rule(exact) || !table.unit_roundoff) return exact;
  auto rounded =
      identifying::identify(numbers, {.base = expected, .unit_roundoff = table.unit_roundoff});
  return is_rule(rounded) ? rounded : exact;
}

void run(options const& o) {
  std::vector<identified_table> tables;
  for (auto const& table : program::read_tables(o.file)) {
    auto const title = std::filesystem::path(o.file).filename().string() +
                       (table.name.empty() ? "" : ": " + table.name);
    tables.push_back({title, identified(table, o.base)});
    if (!o.outputs.json) print(std::cout, title, table.numbers.size(), tables.back().found);
  }
  if (o.outputs.json) print_json(std::cout, tables);
}

}  // namespace

extern "C" int identify_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc identify",
       "Finds the rule and its parameters that made the frequencies of an engine or the tensor "
       "rope_freqs of a GGUF file.",
       {{{"echo 1 0.1 0.01 0.001 | posenc identify /dev/stdin", "numbers as text"},
         {"model.gguf --base 500k --json", "the tensors of a file, and their base, for programs"}}}},
      declare, run);
}

}  // namespace identify
