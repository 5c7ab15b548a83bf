// How sharp softmax is among scores of a user's own, and what rules of temperature make of it.
#include <stdexcept>
#include <string>

#include "program/dispersion/temperatures.hpp"
#include "reporting/text.hpp"
#include "rows.hpp"

namespace sharpness {
namespace {

struct options {
  dispersion::settings of;
  double eps = 0.01, factor = 1;
  std::string file;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("FILE", o.file,
                 "file of scores: FILE.npy, FILE.gguf:TENSOR or text, a line for each row; -inf "
                 "masks a key")
      ->required();
  program::add_number(app, "--factor", o.factor,
                      "factor on the scores, such as 1 / sqrt(head_dim)", "S");
  dispersion::declare_eps(app, o.eps);
  dispersion::declare_temperatures(app, o.of);
  program::declare_outputs(app, o.outputs);
}

void run(options const& o) {
  dispersion::check_eps(o.eps);
  if (!posenc::is_finite(o.factor)) throw std::invalid_argument("--factor must be finite");
  auto const style = program::checked(o.outputs);
  auto const measured = measure_rows(read_rows(o.file), o.factor, o.of);
  charts::print_folded(std::cout, "Scores of " + o.file + ", under rules of temperature.",
                       style.columns);
  std::cout << '\n';
  print(std::cout, measured, o.eps, style);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, measured); },
      [&] { return to_svg(measured, o.file); });
}

}  // namespace

extern "C" int sharpness_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc sharpness",
       "Shows how sharp softmax is among your scores: their spread and entropy, as they are and "
       "under rules of temperature.",
       {{{"scores.npy --factor 0.125", "scores of heads of 64 dims, saved by numpy.save"},
         {"echo 5 3 1 0 0 0 0 0 | posenc sharpness /dev/stdin", "a line of text for each row"}}}},
      declare, run);
}

}  // namespace sharpness
