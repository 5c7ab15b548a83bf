// How the largest attention weight falls as keys are added, and what temperatures do about it,
// between the bounds that no scores can leave.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "phase.hpp"
#include "posenc/core/require.hpp"
#include "reading.hpp"
#include "report.hpp"
#include "reporting/program.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"
#include "rows.hpp"

namespace {

struct options {
  settings experiment;
  std::string scores = "uniform";
  std::optional<std::size_t> draws;
  std::optional<std::uint64_t> seed;
  double eps = 0.01;
  std::string rows;
  bool phase = false;
  double rows_scale = 1;
  reporting::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  auto& s = o.experiment;
  auto* const scores =
      app.add_option(
             "--scores", o.scores,
             "of one key delta, of the others between 0 and delta: uniform, gaussian, or all "
             "0: gap (uniform)")
          ->check(CLI::IsMember(
              std::vector<std::string>(std::begin(shape_names), std::end(shape_names))))
          ->option_text("NAME");
  auto* const delta = app.add_option("--delta", s.delta, "largest score less smallest (5.69)")
                          ->check(CLI::Range(0.0, 100.0))
                          ->option_text("D");
  auto* const largest =
      app.add_option("--largest", s.largest, "number of keys to go up to, from 2 (131072)")
          ->check(CLI::Range(2, 1 << 22))
          ->option_text("N");
  auto* const draws = app.add_option("--draws", o.draws, "of random scores (8)")
                          ->check(CLI::Range(1, 10000))
                          ->option_text("N");
  auto* const seed = app.add_option("--seed", o.seed, "of random scores (1)")
                         ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000'000}))
                         ->option_text("N");
  auto* const eps =
      app.add_option("--eps", o.eps, "the weight that is too small to be sharp (0.01)")
          ->option_text("E");
  app.add_option("--scale", s.scale, "of SSMax (0.43)")->option_text("S");
  app.add_option("--trained", s.trained, "number of keys that log-n takes for trained (8192)")
      ->option_text("L");
  auto* const rows = app.add_option("--rows", o.rows,
                                    "scores of your own: FILE.npy, FILE.gguf:TENSOR or text, a "
                                    "line for each row; -inf masks a key")
                         ->option_text("FILE");
  auto* const phase = app.add_flag("--phase", o.phase,
                                   "the phase figure: how sharp softmax must be, and how sharp "
                                   "models make it");
  for (auto* const of_random : {scores, delta, largest, draws, seed})
    rows->excludes(of_random), phase->excludes(of_random);
  phase->excludes(rows)->excludes(eps);
  app.add_option("--rows-scale", o.rows_scale,
                 "what your scores are multiplied by, such as 1 / sqrt(head_dim) (1)")
      ->needs(rows)
      ->option_text("S");
  reporting::declare_csv(app, o.outputs);
  reporting::declare_svg(app, o.outputs);
  reporting::declare_columns(app, o.outputs);
}

settings checked(options const& o) {
  auto s = o.experiment;
  if (!posenc::is_finite(o.eps) || o.eps <= 0 || o.eps >= 1)
    throw std::invalid_argument("--eps must be between 0 and 1");
  s.scores = static_cast<shape>(std::ranges::find(shape_names, o.scores) - std::begin(shape_names));
  if (s.scores == shape::gap && (o.draws || o.seed))
    throw std::invalid_argument("--draws and --seed are of random scores, which gap has not");
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

void run_rows(options const& o, settings const& s, charts::terminal_style style) {
  if (!posenc::is_finite(o.rows_scale)) throw std::invalid_argument("--rows-scale must be finite");
  auto const measured = measure_rows(read_rows(o.rows), o.rows_scale, s);
  charts::print_folded(std::cout, "Scores of " + o.rows + ", under rules of temperature.",
                       style.columns);
  std::cout << '\n';
  print(std::cout, measured, o.eps, style);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, measured); });
  reporting::write_file(o.outputs.svg,
                        [&](std::ostream& file) { file << to_svg(measured, o.rows); });
}

void run_phase(options const& o, settings const& s, charts::terminal_style style) {
  phase_figure const figure(s.scale, s.trained);
  print(std::cout, figure, style);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, figure); });
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) { file << to_svg(figure); });
}

void run(options const& o) {
  auto const s = checked(o);
  auto const style = reporting::checked(o.outputs);
  if (o.phase) return run_phase(o, s, style);
  if (!o.rows.empty()) return run_rows(o, s, style);
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
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, curves); });
  reporting::write_file(o.outputs.svg,
                        [&](std::ostream& file) { file << to_svg(curves, described(s)); });
}

}  // namespace

int main(int argc, char** argv) {
  return reporting::run_program<options>(
      argc, argv,
      "Shows how the largest attention weight falls with the number of keys, and what rules of "
      "temperature do about it.",
      {{"", "scores within 5.69 of each other, as in Gemma 2B's mean head"},
       {"--scores gap --delta 3", "one key 3 above all others, which are equal"},
       {"--phase --svg phase.svg", "how sharp softmax must be, and how sharp models make it"},
       {"--rows scores.npy --rows-scale 0.125", "scores of your own, of heads of 64 dims"},
       {"--delta 12 --largest 1000000 --eps 0.1 --svg weights.svg",
        "more keys, another bound, drawn"}},
      declare, run);
}
