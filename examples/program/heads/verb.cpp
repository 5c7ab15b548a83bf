// Whether each head of a user's own queries and keys attends by position or by content.
#include <optional>
#include <stdexcept>
#include <variant>

#include "attends_by.hpp"
#include "program/tensors/rotated_heads.hpp"

namespace heads {
namespace {

struct options {
  program::heads_options of;
  std::size_t exchanges = 512;
  std::optional<std::size_t> query;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  program::declare_heads(app, o.of, "");
  program::declare_context(app, o.of, "tokens of the context, for rules of --config that need them (default 8192)")
      ->needs("--config");
  program::add_number(app, "--query", o.query, "token whose query is measured (default the mean over 16)");
  program::add_number(app, "--exchanges", o.exchanges, "exchanges of two keys' contents", 1, 1 << 30);
  program::declare_outputs(app, o.outputs);
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  auto const given = program::read_rotated_heads(o.of);
  auto const &q = given.q, &k = given.k;
  auto const& how = given.how;
  if (q.of_weights || q.tokens < 2)
    throw std::runtime_error("queries and keys must be of two tokens or more, got " +
                             (q.of_weights ? "weights" : std::to_string(q.tokens)));
  if (o.query && (*o.query < 1 || *o.query >= q.tokens))
    throw std::runtime_error("--query must be 1 to " + std::to_string(q.tokens - 1) + ", got " +
                             std::to_string(*o.query));
  places_of_heads found{"Heads of " + o.of.q + ", keys of " + o.of.k + ", " +
                        std::to_string(q.tokens) +
                        " tokens; weights when two keys exchange contents"};
  found.heads = std::visit(
      [&]<class Layout>(Layout) {
        return attend_by<Layout>(q.view(), k.view(),
                                 posenc::rope<Layout>(how.frequencies, how.block), o.query,
                                 o.exchanges);
      },
      how.layout);
  print(std::cout, found, style);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, found); },
      [&] { return to_svg(found); });
}

}  // namespace

extern "C" int heads_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc heads",
       "Shows whether each of your heads attends by position or by content. The test exchanges the "
       "contents of two keys.",
       {{{"--q q.npy --k k.npy --base 500k", "queries and keys, saved by numpy.save"},
         {"--q q.npy --k k.npy --config config.json --svg plane.svg",
          "rotated as the model does, as a picture"}}}},
      declare, run);
}

}  // namespace heads
