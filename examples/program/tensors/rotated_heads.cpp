#include "program/tensors/rotated_heads.hpp"

#include <stdexcept>

#include "posenc/frequency/geometric.hpp"
#include "program/models/reading.hpp"
#include "reporting/scale.hpp"

namespace program {

void declare_heads(CLI::App& app, heads_options& o, std::string const& otherwise) {
  auto* const q =
      app.add_option("--q", o.q,
                     "queries before they are rotated: FILE.npy, of NumPy, "
                     "[tokens][heads][head_dim] or fewer dimensions; or FILE.gguf:TENSOR or "
                     "FILE.safetensors:TENSOR")
          ->option_text("FILE");
  auto* const k = app.add_option("--k", o.k, "keys, likewise" + otherwise)->option_text("FILE");
  q->needs(k), k->needs(q);
  if (otherwise.empty()) q->required(), k->required();
  add_number(app, "--head-dim", o.head_dim,
             "where a row has several heads (that of the model, else all of a row)", 1, 65536);
  auto* const base = add_number(app, "--base", o.base, "base of the frequencies (default 10000)", "B");
  auto* const rotary = add_number(app, "--rotary-dim", o.rotary_dim,
                                  "the first so many dims rotate (all)", 2, 65536);
  auto* const layout =
      app.add_option("--layout", o.layout, "of pairs: halves or interleaved (halves)")
          ->check(one_of({"halves", "interleaved"}))
          ->option_text("NAME");
  auto* const config =
      app.add_option("--config", o.config,
                     "frequencies and layout of the model of a config.json or GGUF file")
          ->excludes(base)
          ->excludes(rotary)
          ->excludes(layout)
          ->option_text("FILE");
  add_number(app, "--layer", o.layer, "layer of that model (default 0)")->needs(config);
}

CLI::Option* declare_context(CLI::App& app, heads_options& o, std::string const& says) {
  return add_number(app, "--context", o.context, says, 1, 1 << 30);
}

std::optional<rotation> rotation_of_model(heads_options& o) {
  if (o.config.empty()) return {};
  auto const model = read_model(o.config);
  auto const& kind = model.kind_of(o.layer.value_or(0));
  if (kind.rotary.empty())
    throw std::runtime_error(o.config + ": layer " + std::to_string(o.layer.value_or(0)) +
                             " does not rotate");
  if (o.head_dim != 0 && o.head_dim != kind.head_dim)
    throw std::runtime_error("--head-dim must be that of the layer, " +
                             std::to_string(kind.head_dim) + ", got " + std::to_string(o.head_dim));
  o.head_dim = kind.head_dim;
  auto const& rotary = kind.rotary.front();
  return rotation{rotary.frequencies.at(o.context.value_or(usual_context)), rotary.layout,
                  rotary.block};
}

rotation rotation_of_options(heads_options const& o, std::size_t head_dim) {
  rotation result{posenc::geometric(o.rotary_dim.value_or(head_dim), o.base.value_or(10'000.0)),
                  posenc::halves{}};
  if (o.layout == "interleaved") result.layout = posenc::interleaved{};
  return result;
}

std::string described_rotation(heads_options const& o) {
  return o.config.empty() ? "base " + charts::compact(o.base.value_or(10'000.0))
                          : "layer " + std::to_string(o.layer.value_or(0)) + " of " + o.config;
}

rotated_heads read_rotated_heads(heads_options o) {
  auto const of_model = rotation_of_model(o);
  auto q = read_heads(o.q, o.head_dim);
  auto k = read_heads(o.k, o.head_dim != 0 ? o.head_dim : q.head_dim);
  if (q.tokens != k.tokens || q.head_dim != k.head_dim || q.heads % k.heads != 0 ||
      q.of_weights != k.of_weights) {
    auto const shape = [](heads_of_file const& f) {
      return '[' + std::to_string(f.tokens) + "][" + std::to_string(f.heads) + "][" +
             std::to_string(f.head_dim) + ']';
    };
    throw std::runtime_error(
        "queries and keys must have as many tokens and dims, and queries a multiple of the keys' "
        "heads, got " +
        shape(q) + " and " + shape(k));
  }
  auto const dims = q.head_dim;
  return {std::move(q), std::move(k), of_model ? *of_model : rotation_of_options(o, dims)};
}

}  // namespace program
