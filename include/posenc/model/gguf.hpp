// Reads how a model encodes positions from the header of a GGUF file.
#pragma once

#include <fstream>
#include <version>
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
#include <filesystem>
#endif

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/norms.hpp"
#include "posenc/model/gguf/rotation.hpp"
#include "posenc/model/gguf/schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// What multiplies scores beside 1 / sqrt(head_dim).
inline double gguf_softmax_factor(gguf_config& config, std::size_t head_dim) {
  auto const root = std::sqrt(static_cast<double>(head_dim));
  auto const& known = config.architecture;
  auto const name = known.scale_key;
  if (auto const given = config.positive_or_none(name)) return *given * root;
  if (known.embedding_scale_layers == config.found.layers) {
    auto const per_head = config.embedding_per_head();
    config.assume(config.key(name) + " is not given: 1 / sqrt(embedding_length / head_count), as " +
                  config.found.type + " of " + shown(config.found.layers) + " layers has it.");
    return root / std::sqrt(static_cast<double>(per_head));
  }
  if (known.scale_by_dim) return 1 / root;
  return known.attention_scale == 0 ? 1 : config.assumed(name, known.attention_scale) * root;
}

inline void read_gguf_temperature(gguf_config& config, layer_description& kind,
                                  scheduled_layer const& layer) {
  if (config.architecture.nope_temperature) {
    if (layer.rotates || layer.type != full_attention) return;
    config.assume(config.found.type +
                  "'s files do not give its temperature: 0.1, 8192, as llama.cpp has it.");
    kind.temperature = position_temperature{0.1, 8192, 1};
    return;
  }
  auto const scale = config.number("attention.temperature_scale");
  if (!scale || *scale == 0) return;
  constexpr auto name = "attention.temperature_length";
  auto const length = config.count(name, most_tokens);
  auto const original = config.count("rope.scaling.original_context_length", most_tokens);
  auto const floor = config.needed(length     ? length
                                   : original ? original
                                              : config.found.context,
                                   name, "be given where attention.temperature_scale is");
  if (!length)
    config.assume(config.key(name) + " is not given: the original context, " + shown(floor) + ".");
  kind.temperature = position_temperature{*scale, static_cast<double>(floor), 0};
}

/// T5's buckets, ALiBi, or learned embeddings.
inline void read_gguf_bias(gguf_config& config, layer_description& kind) {
  auto const& known = config.architecture;
  if (known.buckets) {
    kind.buckets =
        bucket_bias{config.needed_count("attention.relative_buckets_count", most_dims), 128};
    config.assume("GGUF has no key for the buckets' max_distance: 128, as llama.cpp has it.");
  }
  if (known.rope != gguf_rope_type::none && known.alibi_layers == 0) return;
  constexpr auto max_bias = "attention.max_alibi_bias";
  auto given = config.positive_or_none(max_bias);
  bool const has_alibi = known.alibi || known.alibi_layers == config.found.layers;
  if (!given && has_alibi) given = config.assumed(max_bias, 8.0);
  if (given) {
    auto const heads = config.heads();
    bool const are_equal = std::ranges::all_of(heads, [&](auto n) { return n == heads.front(); });
    config.require(are_equal && heads.front() != 0, "attention.head_count",
                   "be above 0 and the same for all layers with ALiBi");
    kind.alibi = alibi_bias{heads.front(), *given};
  } else if (known.learned) {
    config.found.embedding = "learned";
  }
}

/// DeepSeek V4's pooled keys, and the heads that choose keys, with the frequencies of the layer.
inline void read_gguf_sparse_attention(gguf_config& config, layer_description& kind,
                                       scheduled_layer const& layer) {
  if (layer.type == compressed_sparse_attention) kind.pooled = 4;
  if (layer.type == heavily_compressed_attention) kind.pooled = 128;
  auto const& known = config.architecture.index;
  if (!layer.has_index || kind.rotary.empty() || kind.pooled != known.pooled) return;
  constexpr auto key_length = "attention.indexer.key_length";
  auto const needed = [&](char const* name, std::uint64_t least = 1) {
    return config.needed(config.count(name, least, most_tokens), name);
  };
  auto const dim = kind.rotary[0].frequencies.at(1).rotary_dim();
  auto const head_dim = needed(key_length);
  config.require(head_dim >= dim && head_dim <= most_dims, key_length,
                 "hold the " + shown(dim) + " rotary dims and be at most 65536");
  index_heads index{.heads = needed("attention.indexer.head_count"),
                    .head_dim = head_dim,
                    .rotary = kind.rotary[0],
                    .chosen = needed("attention.indexer.top_k"),
                    .key_stride = std::max<std::size_t>(kind.pooled, 1)};
  if (known.rope == gguf_rope_type::neox) index.rotary.layout = halves();
  index.rotary.block = known.last_dims ? rotary_block::last() : rotary_block::first();
  if (config.reads("attention.indexer.block_size")) {
    index.block = needed("attention.indexer.block_size");
    index.local_blocks = needed("attention.indexer.local_blocks", 0);
  }
  kind.index = std::move(index);
}

inline void read_gguf_kind(gguf_config& config, layer_description& kind,
                           scheduled_layer const& layer) {
  if (!layer.attends) {
    return config.note(
        "no_attention layers are recurrent or feed-forward only: no encoding acts there.");
  }
  bool const slides = layer.type == sliding_attention;
  auto const latent = config.count("attention.key_length_mla", most_dims);
  auto const all = latent ? latent : config.count("attention.key_length", most_dims);
  auto const local = slides ? config.count("attention.key_length_swa", most_dims) : std::nullopt;
  kind.head_dim = local ? *local : all ? *all : config.embedding_per_head();
  kind.softmax_factor = gguf_softmax_factor(config, kind.head_dim);
  kind.sinks = layer.sinks;
  if (slides || config.architecture.compressed) kind.window = gguf_window(config);
  if (slides && config.architecture.symmetric_window) {
    kind.window = *kind.window / 2 + 1;
    config.note(symmetric_window);
  }
  if (layer.type == chunked_attention) kind.chunk = config.architecture.chunk;
  constexpr auto cap = "attn_logit_softcapping";
  kind.score_cap = config.positive_or_none(cap);
  if (!kind.score_cap && config.architecture.score_cap != 0) {
    kind.score_cap = config.assumed(cap, config.architecture.score_cap);
  }
  read_gguf_bias(config, kind);
  if (layer.rotates && !kind.alibi) gguf_rotation(config, slides, kind).read();
  read_gguf_temperature(config, kind, layer);
  read_gguf_sparse_attention(config, kind, layer);
  config.require(is_finite(kind.softmax_factor), "rope.scaling.yarn_log_multiplier",
                 "leave scores finite");
}

}  // namespace detail

/// Reads the keys of more than a hundred architectures of llama.cpp, and the tensors rope_freqs,
/// rope_factors_long and rope_factors_short. For an absent key llama.cpp's default is used and
/// listed in `assumptions`.
///
///     auto const model = read_gguf("Llama-3.1-8B-Q4_K_M.gguf");
///
/// The layout of pairs is that of the weights in the file: converters permute the queries and keys
/// of Llama and others to interleaved pairs. Frequencies are computed as by ggml: the factors of a
/// tensor divide before scaling, and YaRN's ramp is truncated. Where ggml differs from a model's
/// own code (Qwen3-VL's last pairs, Phi 3's window) the reader follows the latter, and a note says
/// so.
///
/// Throws std::invalid_argument for what gguf_metadata refuses, an unknown rope.scaling.type, and
/// keys that are absent, of another type or out of range. The error names file, key and value. An
/// error, too, unless unknown_model::as_llama is asked for: an unknown architecture, and a key that
/// llama.cpp does not read for it though its name speaks of positions, scale or mask.
inline model_description read_gguf(gguf_metadata const& metadata,
                                   gguf_options const& options = {}) {
  detail::error_context const file(metadata.file());
  detail::gguf_config config(metadata, options);
  auto const layers = detail::gguf_layers(config);
  config.found.kinds = detail::kinds_of(
      layers, [&](auto& kind, auto const& layer) { detail::read_gguf_kind(config, kind, layer); });
  detail::read_gguf_shared_keys(config, layers);
  detail::read_gguf_norms(config);
  if (!config.flag("attention.causal").value_or(true)) {
    config.note("Queries see later keys too: attention.causal is false.");
  }
  config.settle_keys();
  return std::move(config.found);
}

/// Reads a stream from its current position on; `name` is the name of the file, for errors.
inline model_description read_gguf(std::istream& in, std::string name,
                                   gguf_options const& options = {}) {
  return read_gguf(gguf_metadata(in, std::move(name)), options);
}

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
/// Reads a file. For a model split into several files, give the first.
inline model_description read_gguf(std::filesystem::path const& file,
                                   gguf_options const& options = {}) {
  std::ifstream in(file, std::ios::binary);
  detail::require(in.is_open() && !std::filesystem::is_directory(file), file.string(),
                  ": must be a file that can be read");
  return read_gguf(in, file.filename().string(), options);
}
#endif

}  // namespace posenc
