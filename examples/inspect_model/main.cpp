// How a model encodes positions, read from its config.json or GGUF file; how two models differ; and
// which rule made a table of frequencies.
#include <cstddef>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "answers.hpp"
#include "check.hpp"
#include "compare.hpp"
#include "data.hpp"
#include "identify.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/longrope.hpp"
#include "reading.hpp"
#include "report.hpp"
#include "reporting/program.hpp"

namespace {

struct options {
  std::vector<std::string> files, columns;
  std::string table;
  std::optional<std::size_t> length;
  std::optional<double> base, threshold;
  bool all_pairs = false, as_llama = false, each = false, json = false, csv = false,
       verdict = false;
};

void declare(CLI::App& app, options& o) {
  app.add_option("FILE", o.files,
                 "a config.json of Hugging Face, or a GGUF file; two are compared");
  app.add_flag(
      "--check", o.verdict,
      "what engines are known to get wrong on such a model, and what that does; of a GGUF file "
      "and its config.json, where they disagree; exit status 0: nothing, 2: something, 1: a file "
      "is refused");
  app.add_option("--length", o.length,
                 "of the sequence, in tokens (default: the context of the model, or 4096)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32));
  app.add_flag("--all-pairs", o.all_pairs, "print every pair of a head rather than some");
  app.add_flag("--as-llama", o.as_llama,
               "take a file of an unknown model for Llama's, rather than refuse it");
  app.add_flag("--each", o.each, "describe two files one after the other, as more than two are");
  app.add_option("--threshold", o.threshold,
                 "of a comparison: a score that differs by less, relative to |q| |k|, is not told "
                 "(default: 2^-8, half an ULP of bfloat16)");
  app.add_flag("--json", o.json, "print JSON: of one model, of a comparison or of a table");
  app.add_flag("--csv", o.csv, "print CSV: of one model, a line for each pair");
  app.add_option("--columns", o.columns, "of --csv, NAME,NAME... (default: all of them)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--identify", o.table,
                 "which rule made the frequencies in this file: numbers as text or JSON, or the "
                 "tensors of factors of a GGUF file");
  app.add_option("--base", o.base, "of --identify: the base that is expected");
}

void check(options const& o) {
  auto const require = [](bool holds, char const* sentence) {
    if (!holds) throw std::runtime_error(sentence);
  };
  require(!o.files.empty() || !o.table.empty(), "FILE or --identify must be given; see --help");
  require(o.files.empty() || o.table.empty(), "FILE and --identify must not be given together");
  require(!(o.json && o.csv), "--json and --csv must not be given together");
  require(!o.verdict || o.files.size() == 1 || o.files.size() == 2,
          "--check must be of one model, or of a GGUF file and its config.json");
  require(!o.verdict || !o.csv, "--check and --csv must not be given together");
  require(!o.json || o.files.size() <= 1 || (o.files.size() == 2 && !o.each),
          "--json must be of one model, one comparison or one table");
  require(!o.csv || o.files.size() == 1, "--csv must be of one model");
  require(o.columns.empty() || o.csv, "--columns must come with --csv");
  require(!o.base || !o.table.empty(), "--base must come with --identify");
  // What nothing would read.
  bool const describes = o.table.empty() && !o.verdict && (o.files.size() != 2 || o.each),
             compares = o.table.empty() && !o.verdict && !describes;
  require(
      !o.length || describes || compares,
      "--length must be of a description or a comparison: --check has lengths of its own, and a "
      "table has none");
  require(!o.all_pairs || (describes && !o.json && !o.csv),
          "--all-pairs must be of a description as text: --json and --csv have all pairs");
  require(!o.as_llama || o.table.empty(), "--as-llama must be of a model, not of a table");
  require(!o.each || (o.files.size() > 1 && describes),
          "--each must be of two files or more that are described");
  require(!o.threshold || compares, "--threshold must be of a comparison of two files");
}

std::string name_of(std::string const& file) {
  return std::filesystem::path(file).filename().string();
}

void print_model(options const& o, std::string const& file) {
  auto const model = read_model(file, o.as_llama);
  auto const length = o.length.value_or(model.context.value_or(4096));
  if (o.json) return print_json(std::cout, name_of(file), model, length);
  if (o.csv)
    return print_csv(std::cout, model, length, o.columns.empty() ? csv_columns() : o.columns);
  print(std::cout, name_of(file), model, {.length = length, .all_pairs = o.all_pairs});
}

void print_comparison(options const& o) {
  auto const &a = o.files[0], &b = o.files[1];
  auto const threshold = o.threshold.value_or(comparing::compare_options().threshold);
  auto const found = comparing::compare(read_model(a, o.as_llama), read_model(b, o.as_llama),
                                        {.threshold = threshold, .length = o.length});
  if (o.json) return print_json(std::cout, name_of(a), name_of(b), found);
  print(std::cout, name_of(a), name_of(b), found, threshold);
}

identifying::identification identified(number_table const& table, options const& o) {
  auto const& numbers = table.numbers;
  if (table.base) {
    auto const base = o.base.value_or(*table.base);
    auto const f = posenc::divided_by_factors(posenc::geometric(2 * numbers.size(), base), numbers);
    return identifying::identify(f.inv_freq(), {.base = base, .unit_roundoff = 0x1p-24});
  }
  auto const is_rule = [](identifying::identification const& found) {
    return found.best().within_rounding && found.best().rule != "divided_by_factors";
  };
  auto exact = identifying::identify(numbers, {.base = o.base});
  if (is_rule(exact) || !table.unit_roundoff) return exact;
  auto rounded =
      identifying::identify(numbers, {.base = o.base, .unit_roundoff = table.unit_roundoff});
  return is_rule(rounded) ? rounded : exact;
}

void print_tables(options const& o) {
  std::vector<identified_table> tables;
  for (auto const& table : read_tables(o.table)) {
    auto const title = name_of(o.table) + (table.name.empty() ? "" : ": " + table.name);
    tables.push_back({title, identified(table, o)});
    if (!o.json) print(std::cout, title, table.numbers.size(), tables.back().found);
  }
  if (o.json) print_json(std::cout, tables);
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
    auto const model = read_model(file, o.as_llama);
    return {.names = {name_of(file)}, .model = model, .found = verdicts::verdict_on(model)};
  }
  auto gguf = o.files.back();
  auto of_file = read_model_file(file, o.as_llama), of_other = read_model_file(gguf, o.as_llama);
  if (of_file.is_gguf) std::swap(file, gguf), std::swap(of_file, of_other);
  if (of_file.is_gguf || !of_other.is_gguf)
    throw std::runtime_error("--check of two files must be of a GGUF file and its config.json");
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
int print_verdict(options const& o) {
  try {
    auto const [names, model, found, what, conclusion] = checked_files(o);
    if (o.json) {
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
    if (!o.json) throw;
    nlohmann::ordered_json const object{{"file", name_of(o.files.front())},
                                        {"verdict", "refused"},
                                        {"error", reporting::message_of(error)}};
    std::cout << object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << '\n';
    return 1;
  }
}

// False if a file of several could not be read; the others are printed.
bool print_models(options const& o) {
  bool good = true;
  for (std::size_t i = 0; i < o.files.size(); ++i) {
    try {
      if (i != 0) std::cout << '\n';
      print_model(o, o.files[i]);
    } catch (std::exception const& error) {
      std::cerr << "inspect_model: " << reporting::message_of(error) << '\n';
      good = false;
    }
  }
  return good;
}

int run(options const& o) {
  check(o);
  if (o.verdict) return print_verdict(o);
  if (!o.table.empty()) {
    print_tables(o);
  } else if (o.files.size() == 2 && !o.each) {
    print_comparison(o);
  } else {
    return print_models(o) ? 0 : 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return reporting::run_program<options>(
      argc, argv,
      "How a model encodes positions, layer by layer: how it rotates queries and keys, what it "
      "adds to scores, how far it sees. Of two models, what differs and from which distance on it "
      "matters. Of a table of frequencies, which rule made it.",
      {{"config.json", "of Hugging Face"},
       {"Llama-3.1-8B-Q4_K_M.gguf", "of llama.cpp"},
       {"--check config.json", "what engines are known to get wrong on it"},
       {"--check model.gguf config.json", "where they disagree, and what llama.cpp computes"},
       {"llama-3.1-8b.json llama-2-7b.json", "what differs, and from where"},
       {"llama-3.1-8b.json --csv --columns pair,inv_freq", "for programs"},
       {"--identify inv_freq.txt --base 500000", "which rule made the table"}},
      declare, run);
}
