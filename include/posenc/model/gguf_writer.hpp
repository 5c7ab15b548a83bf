// Writes how a model encodes positions as the keys of a GGUF file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/gguf/architectures.hpp"
#include "posenc/model/gguf/difference.hpp"
#include "posenc/model/gguf/header.hpp"
#include "posenc/model/gguf/layer_writer.hpp"
#include "posenc/model/gguf/surroundings.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// Layers with sinks where llama.cpp loads none, or without them where it must load them. Empty if
/// there are none: a file that lists no tensors cannot say more.
inline std::string difference_of_sinks(model_description const& model,
                                       gguf_architecture const& known) {
  bool const can_have = (known.reads & gguf_group::sink_tensors) != 0;
  for (auto const& kind : model.kinds) {
    bool const attends = kind.head_dim != 0;
    if (attends && kind.sinks && !can_have) return "sinks of " + kind.name;
    if (attends && !kind.sinks && known.sinks) return kind.name + " without sinks";
  }
  return "";
}

/// What the rest of the file must have, beside keys.
inline void add_notes(gguf_header& header, model_description const& model,
                      gguf_architecture const& known, model_description const& read) {
  bool permuted = false, sinks = false;
  for (auto const& kind : model.kinds) {
    sinks |= kind.sinks;
    if (kind.rotary.empty() || kind.layers.empty()) continue;
    auto const& written = read.kind_of(kind.layers[0]).rotary.at(0);
    permuted |= kind.rotary[0].layout.index() != written.layout.index();
  }
  auto const layout = known.rope == gguf_rope_type::norm ? "interleaved" : "halves";
  if (permuted) {
    header.notes.push_back(
        std::string("Pairs are ") + layout + " in files of " + std::string(known.name) +
        ", and not in the model: permute the rows of W_q and W_k, as relayout_rows does.");
  }
  if (sinks) header.notes.push_back("Sinks are weights: the tensors blk.N.attn_sinks.weight.");
}

}  // namespace detail

/// Writes what a reader understood of a model, of config.json or GGUF, as the keys that llama.cpp
/// reads for an architecture: of sizes, rotation, scores, temperature, layers and masks. read_gguf
/// reads the same description from them, with numbers rounded to f32.
///
///     auto const llama = read_hugging_face("config.json");             // of Llama 3.1 8B
///     auto const header = write_gguf(llama, "llama", {.heads = 32, .kv_heads = 8});
///     header.keys.at("llama.rope.freq_base")                           // 500000.0f
///     read_gguf(gguf_metadata(header.bytes(), "written"))              // the same model
///
/// A rule without keys (Llama 3, proportional, YaRN that is not truncated) becomes the tensor
/// rope_freqs, where llama.cpp reads it. `notes` say what was assumed because it was not given, and
/// what the rest of the file must have. What has no part in positions, such as attention.key_length
/// of a latent cache, is the converter's.
///
/// Where no key gives how a model rotates, such as gpt-oss's YaRN that is not truncated, converters
/// write the nearest all the same. `.nearest = true` does so, and a note says what differs.
///
/// Throws std::invalid_argument if the architecture is not known, if a number does not fit into its
/// key, if ALiBi has another number of heads, if the architecture needs what the model has not, or
/// if the model does something that the architecture has no key for. The error names it.
inline gguf_header write_gguf(model_description const& model, std::string_view architecture,
                              gguf_surroundings const& around) {
  using namespace detail;
  auto const known = gguf_architectures::find(architecture);
  require(known.has_value(), "write_gguf: architecture must be one that is known, got ",
          printable(architecture));
  require_heads(model, around);
  require_what_it_needs(*known, model);
  auto const written = [&](gguf_rope_form form, bool nearest, std::string& difference) {
    auto header = gguf_layer_writer(model, *known, around).write(form);
    auto const bytes = header.bytes();
    auto const read = read_gguf(gguf_metadata(std::span(bytes), "write_gguf"));
    gguf_difference const found(model, read, nearest);
    difference = found.text();
    if (difference.empty()) difference = difference_of_sinks(model, *known);
    if (!difference.empty()) return header;
    add_notes(header, model, *known, read);
    for (auto const& rotation : found.rotations())
      header.notes.push_back("The nearest, not the same: " + rotation + ".");
    return header;
  };
  std::string difference, other;
  auto header = written(gguf_rope_form::by_keys, false, difference);
  if (!difference.empty() && (known->reads & gguf_group::pair_factors) != 0) {
    header = written(gguf_rope_form::by_factors, false, other);
    if (other.empty()) return header;
  }
  if (!difference.empty() && around.nearest) {
    header = written(gguf_rope_form::by_keys, true, difference);
  }
  require(difference.empty(), "write_gguf: ", architecture,
          " must have keys for all that the model does, and has none for this: ", difference);
  return header;
}

}  // namespace posenc
