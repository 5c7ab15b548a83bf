// How sharp softmax must be among ever more keys, and how sharp models make it.
#include "phase.hpp"
#include "program/dispersion/temperatures.hpp"

namespace phase {
namespace {

struct options {
  dispersion::settings of;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  dispersion::declare_temperatures(app, o.of);
  program::declare_outputs(app, o.outputs);
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  phase_figure const figure(o.of.scale, o.of.trained);
  print(std::cout, figure, style);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, figure); },
      [&] { return to_svg(figure); });
}

}  // namespace

extern "C" int phase_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc phase",
       "Shows the sharpness that three papers ask of softmax among 16 to a million keys, and the "
       "sharpness that models give it.",
       {{{"--svg phase.svg", "both charts as a picture"},
         {"--trained 4096 --scale 0.5", "models that were trained on 4096 keys"}}}},
      declare, run);
}

}  // namespace phase
