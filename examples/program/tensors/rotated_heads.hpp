// Queries and keys of a user's own, and how they rotate: the options of the verbs that take them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "program/options.hpp"
#include "program/tensors/heads_file.hpp"

namespace program {

constexpr std::size_t usual_context = 8192;

struct heads_options {
  std::string q, k, config, layout = "halves";
  std::size_t head_dim = 0;
  std::optional<std::size_t> rotary_dim, layer, context;
  std::optional<double> base;
};

/// --q, --k, which need one another, and what says how they rotate. `otherwise`: what there is
/// without files, or nothing where they must be given.
void declare_heads(CLI::App& app, heads_options& o, std::string const& otherwise);
/// --context, tokens for rules that go by it, and what else `says`.
CLI::Option* declare_context(CLI::App& app, heads_options& o, std::string const& says);

struct rotation {
  posenc::frequencies frequencies;
  std::variant<posenc::halves, posenc::interleaved> layout;
  posenc::rotary_block block = posenc::rotary_block::first();
};

/// By the model of --config, whose head_dim becomes that of the options; or by --base and its like,
/// once head_dim is known. Throws std::runtime_error for a layer that does not rotate, and for a
/// --head-dim that is not the layer's.
std::optional<rotation> rotation_of_model(heads_options& o);
rotation rotation_of_options(heads_options const& o, std::size_t head_dim);

/// "base 500k" or "layer 3 of config.json".
std::string described_rotation(heads_options const& o);

struct rotated_heads {
  heads_of_file q, k;
  rotation how;
};

/// What --q and --k name. Throws std::runtime_error unless shapes fit, and as read_heads does.
rotated_heads read_rotated_heads(heads_options o);

}  // namespace program
