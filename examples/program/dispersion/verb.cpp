// How the largest attention weight falls as keys are added, and what temperatures do about it,
// between the bounds that no scores can leave.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "posenc/core/require.hpp"
#include "program/dispersion/temperatures.hpp"
#include "reading.hpp"
#include "report.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace dispersion {
namespace {

struct options {
  settings experiment;
  std::string scores = "uniform";
  std::optional<std::size_t> draws;
  std::optional<std::uint64_t> seed;
  double eps = 0.01;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  auto& s = o.experiment;
  app.add_option("--scores", o.scores,
                 "scores: one key has delta, the others are uniform or gaussian between 0 and "
                 "delta, or gap, all at 0 (default uniform)")
      ->check(program::one_of({std::begin(shape_names), std::end(shape_names)}))
      ->option_text("NAME");
  program::add_number(app, "--delta", s.delta, "largest score less the smallest", 0.0, 100.0,
                      "D");
  program::add_number(app, "--largest", s.largest, "largest number of keys", 2,
                      1 << 22);
  program::add_number(app, "--draws", o.draws, "draws of random scores (default 8)", 1, 10000);
  program::declare_seed(app, o.seed);
  declare_eps(app, o.eps);
  declare_temperatures(app, s);
  program::declare_outputs(app, o.outputs);
}

settings checked(options const& o) {
  auto s = o.experiment;
  check_eps(o.eps);
  s.scores = static_cast<shape>(std::ranges::find(shape_names, o.scores) - std::begin(shape_names));
  if (s.scores == shape::gap && (o.draws || o.seed))
    throw std::invalid_argument("--draws and --seed are for random scores, which gap has not");
  s.draws = s.scores == shape::gap ? 1 : o.draws.value_or(s.draws);
  s.seed = o.seed.value_or(s.seed);
  return s;
}

std::string described(settings const& s) {
  auto const delta = charts::compact(s.delta);
  auto const text = "scores: one key at " + delta + ", the others ";
  if (s.scores == shape::gap) return text + "at 0";
  return text + (s.scores == shape::uniform ? "uniform" : "Gaussian") + " between 0 and " + delta +
         "; " + std::to_string(s.draws) + " draws, seed " + std::to_string(s.seed) +
         "; curves show the mean, bands the extremes";
}

void run(options const& o) {
  auto const s = checked(o);
  auto const style = program::checked(o.outputs);
  std::vector<curve> curves;
  {
    reporting::progress_line progress;
    curves = measure(s, [&](double part) { progress.show("softmax", part); });
  }
  charts::print_folded(
      std::cout, "Largest attention weight against the number of keys n; " + described(s) + ".",
      style.columns);
  std::cout << '\n';
  print(std::cout, curves, style);
  std::cout << '\n';
  for (auto const& sentence : readings(curves, s, o.eps))
    charts::print_folded(std::cout, sentence, style.columns);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, curves); },
      [&] { return to_svg(curves, described(s)); });
}

}  // namespace

extern "C" int dispersion_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc dispersion",
       "Shows the largest attention weight against the number of keys, under rules of "
       "temperature.",
       {{{"--scores gap --delta 3", "a row with one score of 3, and 0 elsewhere"},
         {"--delta 12 --largest 64k --eps 0.1 --svg weights.svg", "other settings, as a picture"}}}},
      declare, run);
}

}  // namespace dispersion
