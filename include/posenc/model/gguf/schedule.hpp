// Which layers slide and which rotate, by the keys of a GGUF file or its architecture.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/config.hpp"
#include "posenc/model/settings.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The sliding window, if some layers slide. llama.cpp writes 0 for none.
inline std::optional<std::size_t> gguf_window(gguf_config& config) {
  constexpr auto name = "attention.sliding_window";
  auto const given = config.count(name, 0, most_tokens);
  auto const& known = config.architecture;
  if (known.sliding_layers != 0 && known.sliding_layers != config.found.layers) return {};
  if (given) return *given == 0 ? std::nullopt : given;
  return known.window == 0 ? std::nullopt : std::optional(config.assumed(name, known.window));
}

/// The type of each layer, as if all had attention.
inline layer_types gguf_types_of_layers(gguf_config& config) {
  auto const layers = config.found.layers;
  auto const& known = config.architecture;
  constexpr std::string_view pattern = "attention.sliding_window_pattern";
  auto const every = [&](std::size_t n, std::string_view others) {
    return full_every(layers, n, others,
                      known.full_first ? std::optional<std::size_t>(0) : std::nullopt);
  };
  auto all_full = every(1, {}), all_slide = every(0, sliding_attention);
  if (known.chunk != 0) {
    if (config.count("attention.sliding_window", 0, most_tokens) == std::size_t{0}) return all_full;
    config.assume(config.found.type + "'s files do not give its chunks: " + shown(known.chunk) +
                  " positions, in all layers but every " + shown(known.full_every) +
                  "th, and RoPE in these layers alone, as llama.cpp has it.");
    return every(known.full_every, chunked_attention);
  }
  if (known.compressed) {
    constexpr auto name = "attention.compress_ratios";
    layer_types types;
    auto const ratios = config.needed(config.counts(name, most_dims), name);
    for (auto const ratio : ratios) {
      config.require(ratio == 0 || ratio == 4 || ratio == 128, name,
                     "be 0, 4 or 128 for each layer");
      types.emplace_back(ratio == 0   ? sliding_attention
                         : ratio == 4 ? compressed_sparse_attention
                                      : heavily_compressed_attention);
    }
    return types;
  }
  if (!gguf_window(config)) {
    if (config.has(pattern)) {
      config.note(config.key(pattern) + " is given, and no window: no layer slides.");
    }
    return all_full;
  }
  if (config.is_list(pattern)) {
    auto types = all_full;
    auto const slides = *config.counts(pattern, 1);
    for (std::size_t i = 0; i < layers; ++i) {
      if (slides[i] == 1) types[i] = sliding_attention;
    }
    bool const is_ignored = (known.reads & gguf_group::pattern_list) == 0;
    if (is_ignored && types != every(known.full_every, sliding_attention)) {
      config.note(config.key(pattern) + " is a list, which llama.cpp ignores for " +
                  config.found.type + ": there every " + shown(known.full_every) +
                  "th layer sees all keys.");
    }
    return types;
  }
  if (auto const n = config.count(pattern, 0, most_dims)) {
    // For these llama.cpp takes one number as the entry of each layer, and not as a period.
    if (known.needs_pattern) return *n == 0 ? all_full : all_slide;
    return every(*n, sliding_attention);
  }
  if (known.full_every != 0) {
    return every(config.assumed(pattern, known.full_every), sliding_attention);
  }
  config.require(!known.needs_pattern, pattern, "be given");
  auto const window_is_given = config.key("attention.sliding_window") + " is given";
  if (known.window_is_off) {
    config.assume(window_is_given +
                  ": taken for every layer, as the model's own code has it. llama.cpp ignores it.");
  }
  if (known.all_slide) return all_slide;
  config.assume(window_is_given +
                ", and no pattern of layers is known: none slides, as llama.cpp has it.");
  return all_full;
}

/// Whether each layer has attention. Others are recurrent or feed-forward only.
inline std::vector<bool> gguf_layers_with_attention(gguf_config& config) {
  constexpr auto interval = "full_attention_interval";
  auto const heads = config.heads();
  auto const kv_heads = config.counts("attention.head_count_kv", most_dims).value_or(heads);
  auto const recurrent = config.counts("attention.recurrent_layers", 1);
  auto every = std::size_t{1};
  if (auto const known = config.architecture.attention_every; known != 0 && !recurrent) {
    every = config.or_assumed(config.count(interval, most_dims), interval, known);
  }
  std::vector<bool> result(config.found.layers);
  for (std::size_t i = 0; i < result.size(); ++i) {
    bool const attends = recurrent ? (*recurrent)[i] == 0 : (i + 1) % every == 0;
    result[i] = attends && heads[i] != 0 && kv_heads[i] != 0;
  }
  return result;
}

/// What is known of each layer before its other keys are read.
inline std::vector<scheduled_layer> gguf_layers(gguf_config& config) {
  auto const types = gguf_types_of_layers(config);
  auto const attends = gguf_layers_with_attention(config);
  auto const& known = config.architecture;
  auto const& file = config.file;
  bool const some_slide = contains(types, sliding_attention);
  bool const some_chunked = types.front() == chunked_attention;
  bool const only_sliding = known.rope_on_sliding_only && some_slide;
  auto const nope_first_of = some_slide ? known.nope_first_of : 0;
  auto const dense = known.rope_on_dense || known.index.after_dense
                         ? config.count("leading_dense_block_count", 0, most_dims).value_or(0)
                         : 0;
  auto const assume_rope_in = [&](bool holds, std::string const& layers) {
    if (holds) config.assume(config.found.type + ": RoPE in " + layers + ".");
  };
  assume_rope_in(known.nope_every != 0, "all but every " + shown(known.nope_every) + "th layer");
  assume_rope_in(only_sliding && known.rope_on_dense,
                 "sliding layers and the first " + shown(dense));
  assume_rope_in(only_sliding && !known.rope_on_dense, "sliding layers only");
  assume_rope_in(nope_first_of != 0, "all layers but the first of each " + shown(nope_first_of));
  bool const some_rotate =
      known.rope != gguf_rope_type::none && config.flag("rope.scaling.finetuned").value_or(true);

  std::vector<scheduled_layer> result;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!attends[i]) {
      result.push_back({.type = "no_attention", .attends = false, .rotates = false});
      continue;
    }
    bool const slides = types[i] == sliding_attention, is_dense = i < dense;
    bool const is_nope = (known.nope_every != 0 && (i + 1) % known.nope_every == 0) ||
                         (nope_first_of != 0 && i % nope_first_of == 0) ||
                         (only_sliding && !slides && !(known.rope_on_dense && is_dense)) ||
                         (some_chunked && types[i] == full_attention);
    bool const has_sinks = file.tensors().empty()
                               ? known.sinks
                               : file.has_tensor("blk." + shown(i) + ".attn_sinks.weight");
    auto& layer = result.emplace_back(
        scheduled_layer{.type = types[i], .rotates = some_rotate && !is_nope, .sinks = has_sinks});
    layer.has_index = known.index.used && !(known.index.after_dense && is_dense);
    if (known.alibi || known.learned || known.buckets) layer.name = layer.type;
  }
  return result;
}

/// Reads which layers see the keys of others.
inline void read_gguf_shared_keys(gguf_config& config, std::vector<scheduled_layer> const& layers) {
  auto const known = config.architecture.keyed_layers;
  if (!known) return;
  constexpr auto key = "attention.shared_kv_layers";
  auto const given = config.count(key, 0, most_dims);
  auto const written = *known == 0 ? layers.size() : std::min(*known, layers.size()),
             shared = given.value_or(layers.size() - written);
  if (shared == 0 || shared >= layers.size()) return;
  bool const can_share = share_keys(config, layers, layers.size() - shared);
  config.require(can_share || !given, key, "leave a layer of each type before those that share");
  if (can_share && !given) config.assumed(key, shared);
}

}  // namespace posenc::detail
