// What the weights of a model's heads use each frequency for.
#include <optional>
#include <string>

#include "program/options.hpp"
#include "weights.hpp"
#include "weights_report.hpp"

namespace norms {
namespace {

struct options {
  std::string file;
  std::optional<std::size_t> context, layer;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("FILE", o.file, "a folder of Hugging Face, or a GGUF file")->required();
  program::add_number(app, "--layer", o.layer, "layer to show (default all)");
  program::add_number(app, "--context", o.context,
                      "tokens within which turns are counted, also for rules that need them "
                      "(default the model's context)",
                      1, 1 << 30);
  program::declare_outputs(app, o.outputs);
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  auto const found = read_weights(o.file, o.context, o.layer);
  print(std::cout, found, style);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, found); },
      [&] { return to_svg(found); });
}

}  // namespace

extern "C" int norms_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc norms",
       "Shows the norms of all heads of a model by frequency, from its weights, and ranks the heads "
       "by their part in fast pairs.",
       {{{"model.gguf --svg maps.svg", "all heads of a model, as maps"},
         {"model.gguf --layer 3 --csv norms.csv", "the heads of one layer, for programs"}}}},
      declare, run);
}

}  // namespace norms
