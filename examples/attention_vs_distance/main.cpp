// How attention falls, or does not fall, with distance: the curves of real models' positional
// encodings.
//
//     attention_vs_distance
//         Llama 2 7B and Gemma 4 31B, five encodings
//     attention_vs_distance --model gpt-j-6b --rho 0.5
//         random keys, correlated with the query
//     attention_vs_distance --encodings rope,p-rope --p 0.25 0.75 --base 500000 --svg curves.svg
//         encodings of your own choice, drawn
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "report.hpp"
#include "reporting/files.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"

namespace {

struct options {
  std::vector<std::string> models{"llama-2-7b", "gemma-4-31b"};
  choice chosen;
  std::optional<std::size_t> head_dim, heads, range;
  std::optional<double> base;
  std::optional<double> rho;
  std::size_t samples = 16;
  std::uint64_t seed = 1;
  std::string csv, svg;
  int columns = 0;
};

std::string list_of(auto const& things, auto&& name) {
  std::string list;
  for (auto const& thing : things) list += (list.empty() ? "" : ", ") + std::string(name(thing));
  return list;
}

void declare(CLI::App& app, options& o) {
  std::vector<std::string> const names = [] {
    std::vector<std::string> all;
    for (auto const& m : models) all.emplace_back(m.name);
    return all;
  }();
  std::vector<std::string> const encodings(std::begin(all_encodings), std::end(all_encodings));
  app.add_option("--model", o.models,
                 "settings of these models: " + list_of(names, [](auto const& n) { return n; }))
      ->check(CLI::IsMember(names))
      ->delimiter(',')
      ->option_text("NAME ...");
  app.add_option("--encodings", o.chosen.encodings,
                 "which to show: " + list_of(encodings, [](auto const& n) { return n; }))
      ->check(CLI::IsMember(encodings))
      ->delimiter(',')
      ->option_text("NAME ...");
  app.add_option("--p", o.chosen.fractions,
                 "fractions of the frequencies that p-RoPE keeps (0.75, and the model's own)")
      ->check(CLI::Range(0.0, 1.0))
      ->delimiter(',')
      ->option_text("P ...");
  app.add_option("--window", o.chosen.window,
                 "distances that ReRoPE and Self-Extend leave as they are (1024)")
      ->check(CLI::Range(1, 1 << 22))
      ->option_text("N");
  app.add_option("--group", o.chosen.group,
                 "tokens that share a position beyond the window of Self-Extend (8)")
      ->check(CLI::Range(1, 1 << 22))
      ->option_text("N");
  app.add_option("--head-dim", o.head_dim, "instead of the model's; even")
      ->check(CLI::Range(2, 4096))
      ->option_text("N");
  app.add_option("--base", o.base, "of the frequencies, instead of the model's")->option_text("B");
  app.add_option("--heads", o.heads, "of ALiBi, instead of the model's")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  app.add_option("--range", o.range, "distances to show, instead of the model's context")
      ->check(CLI::Range(2, 1 << 22))
      ->option_text("N");
  auto* const all_ones = app.add_flag("--all-ones")
                             ->description("queries and keys are (1, ..., 1): this is the default");
  auto* const rho =
      app.add_option("--rho", o.rho, "Gaussian queries and keys of this correlation, -1 to 1")
          ->check(CLI::Range(-1.0, 1.0))
          ->option_text("RHO");
  app.add_option("--samples", o.samples, "Gaussian queries to average over (16)")
      ->check(CLI::Range(1, 100000))
      ->needs(rho)
      ->option_text("N");
  app.add_option("--seed", o.seed, "of the Gaussian numbers (1)")->needs(rho)->option_text("N");
  all_ones->excludes(rho);
  app.add_option("--csv", o.csv, "write the numbers to FILE")->option_text("FILE");
  app.add_option("--svg", o.svg, "write the pictures to FILE")->option_text("FILE");
  app.add_option("--columns", o.columns, "width of the text (that of the terminal, or 100)")
      ->check(CLI::Range(62, 400))
      ->option_text("N");
}

void drop_repeats(auto& list) {
  for (auto at = list.begin(); at != list.end();)
    at = std::find(list.begin(), at, *at) != at ? list.erase(at) : at + 1;
}

std::string grouped(std::size_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

measured_model measure(options const& o, std::string const& name) {
  auto m = *std::ranges::find(models, name, &model::name);
  if (o.head_dim) m.head_dim = m.rotary_dim = *o.head_dim;
  m.base = o.base.value_or(m.base);
  m.heads = o.heads.value_or(m.heads);
  posenc::profile_settings settings{
      .head_dim = m.head_dim, .heads = m.heads, .range = o.range.value_or(m.context)};
  if (o.rho) settings.inputs = posenc::gaussian{*o.rho, o.samples, o.seed};
  reporting::progress_line progress;
  auto title = name + ": " + (o.head_dim ? "" : std::string(m.says) + "; ") + "head_dim " +
               std::to_string(m.head_dim) + ", " + std::to_string(m.heads) + " heads, base " +
               charts::compact(m.base) + ", " + grouped(settings.range) + " tokens";
  return {std::move(title),
          compute(m, o.chosen, settings, [&](double part) { progress.show(name, part); })};
}

void run(options const& o) {
  reporting::check_standard_output();
  reporting::check_writable({o.csv, o.svg});
  auto style = charts::detect(stdout);
  if (o.columns > 0) style.columns = o.columns;
  auto const inputs =
      o.rho ? "queries and keys: Gaussian, correlation " + charts::compact(*o.rho) + ", " +
                  std::to_string(o.samples) + " queries, seed " + std::to_string(o.seed) +
                  "; curves show the mean, bands the extremes"
            : std::string("queries and keys: all ones, so that the curves show the encoding alone");
  std::vector<measured_model> measured;
  for (auto const& name : o.models) {
    measured.push_back(measure(o, name));
    if (measured.size() == 1) std::cout << "Attention against distance; " << inputs << ".\n";
    print(std::cout, measured.back(), style, o.rho.has_value());
  }
  std::cout.flush();
  reporting::write_file(o.csv, [&](std::ostream& file) { write_csv(file, measured); });
  reporting::write_file(o.svg, [&](std::ostream& file) { file << to_svg(measured, inputs); });
  if (!std::cout) throw std::runtime_error("cannot write to the standard output");
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app(
      "Shows how attention logit and weight fall, or do not fall, with distance, under positional "
      "encodings of real models.");
  options o;
  declare(app, o);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const& help) {
    return app.exit(help);
  }
  drop_repeats(o.models), drop_repeats(o.chosen.encodings), drop_repeats(o.chosen.fractions);
  run(o);
  return 0;
} catch (std::exception const& error) {
  std::cerr << "attention_vs_distance: " << error.what() << '\n';
  return 1;
}
