// From the layers of a model to the keys of a GGUF file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/draft.hpp"
#include "posenc/model/gguf/header.hpp"
#include "posenc/model/gguf/rope_writer.hpp"
#include "posenc/model/gguf/surroundings.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// Writes all keys of a model, in one of two forms.
class gguf_layer_writer {
 public:
  gguf_layer_writer(model_description const& model, gguf_architecture const& known,
                    gguf_surroundings const& around)
      : model_(model),
        around_(around),
        draft_(known),
        known_(draft_.known),
        layers_(kinds_by_layer(model)) {}

  gguf_header write(gguf_rope_form form) && {
    write_sizes();
    write_layers();
    write_scores();
    gguf_rope_writer(draft_, rotating_layers()).write(form);
    write_temperature();
    return std::move(draft_.header);
  }

 private:
  using kind = layer_description;

  static bool attends(kind const& layer) { return layer.head_dim != 0; }
  bool slides(kind const& layer) const { return layer.window.has_value() && layer.pooled == 0; }
  /// The first layer of which `holds` is true.
  kind const* first(auto const& holds) const {
    auto const found = std::ranges::find_if(layers_, [&](auto const* one) { return holds(*one); });
    return found == layers_.end() ? nullptr : *found;
  }
  kind const* first_with_attention() const { return first(attends); }

  gguf_rotating_layers rotating_layers() const {
    gguf_rotating_layers result;
    result.full = first([&](kind const& k) { return k.rotary.size() == 1 && !slides(k); });
    result.sliding = first([&](kind const& k) { return k.rotary.size() == 1 && slides(k); });
    for (auto const& one : model_.kinds) {
      for (auto const& rotary : one.rotary)
        result.most_pairs = std::max(result.most_pairs, rotary.frequencies.at(1).pairs());
    }
    return result;
  }

  void write_sizes() {
    draft_.set_count("block_count", model_.layers);
    auto const context = around_.context ? around_.context : model_.context;
    if (context) draft_.set_count("context_length", *context);
    if (!context) draft_.note("context_length", "not given, and llama.cpp requires it.");
    auto const* const some = first_with_attention();
    draft_.set_count("attention.head_count", around_.heads);
    set_or_assume("attention.head_count_kv", around_.kv_heads, around_.heads, "as many as heads");
    if (some == nullptr) return;
    auto const* const wide = first([&](kind const& k) { return attends(k) && !slides(k); });
    auto const* const local = first([&](kind const& k) { return slides(k); });
    auto const dim = (wide != nullptr ? wide : some)->head_dim;
    set_or_assume("embedding_length", around_.embedding, around_.heads * dim, "heads * head_dim");
    constexpr std::string_view latent = "attention.key_length_mla";
    draft_.set_count(draft_.reads(latent) ? latent : "attention.key_length", dim);
    if (local != nullptr && local->head_dim != dim) {
      draft_.set_count("attention.key_length_swa", local->head_dim);
    }
  }

  void set_or_assume(std::string_view name, std::optional<std::size_t> given, std::size_t assumed,
                     std::string_view what) {
    draft_.set_count(name, given.value_or(assumed));
    if (given) return;
    draft_.note(name, "not given: " + std::to_string(assumed) + ", " + std::string(what) + ".");
  }

  void write_layers() {
    write_layers_without_attention();
    if (known_.compressed) return write_compressed_layers();
    auto const* const sliding = first([&](kind const& k) { return slides(k); });
    if (sliding == nullptr && known_.window != 0) write_pattern();
    if (sliding != nullptr && draft_.reads("attention.sliding_window")) {
      auto const window = *sliding->window;
      draft_.set_count("attention.sliding_window",
                       known_.symmetric_window ? 2 * (window - 1) : window);
      write_pattern();
    }
    bool const some_chunked = first([](kind const& k) { return k.chunk.has_value(); }) != nullptr;
    if (known_.chunk != 0 && !some_chunked) draft_.set_count("attention.sliding_window", 0);
    bool const none_rotates = first([](kind const& k) { return !k.rotary.empty(); }) == nullptr;
    if (none_rotates && draft_.reads("rope.scaling.finetuned")) {
      draft_.set("rope.scaling.finetuned", false);
    }
    write_dense_layers();
    write_index();
  }

  /// Every n-th layer where that says it, else, where llama.cpp reads one, a list.
  void write_pattern() {
    constexpr std::string_view key = "attention.sliding_window_pattern";
    if (!draft_.reads(key)) return;
    std::vector<bool> list;
    for (auto const* const layer : layers_) list.push_back(slides(*layer));
    if (known_.needs_pattern) return draft_.set(key, std::move(list));
    auto const is_every = [&](std::size_t n) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        bool const is_full = n != 0 && i % n == (known_.full_first ? 0 : n - 1);
        if (list[i] == is_full) return false;
      }
      return true;
    };
    auto n = is_every(known_.full_every) ? known_.full_every : 0;
    while (n < list.size() && !is_every(n)) ++n;
    if (is_every(n)) return draft_.set_count(key, n);
    if (draft_.reads(gguf_group::pattern_list)) draft_.set(key, std::move(list));
  }

  void write_layers_without_attention() {
    std::vector<bool> others;
    for (auto const* const layer : layers_) others.push_back(!attends(*layer));
    bool const some = std::ranges::find(others, true) != others.end();
    if (known_.attention_every != 0) {
      for (std::size_t n = 1; n <= others.size(); ++n) {
        bool fits = true;
        for (std::size_t i = 0; fits && i < others.size(); ++i)
          fits = others[i] == ((i + 1) % n != 0);
        if (fits) return draft_.set_count("full_attention_interval", n);
      }
      return draft_.set("attention.recurrent_layers", std::move(others));
    }
    if (!some) return;
    std::vector<std::int32_t> kv_heads;
    kv_heads.reserve(others.size());
    auto const heads = static_cast<std::int32_t>(around_.kv_heads.value_or(around_.heads));
    for (bool const other : others) kv_heads.push_back(other ? 0 : heads);
    draft_.set_list("attention.head_count_kv", std::move(kv_heads));
  }

  void write_compressed_layers() {
    std::vector<std::int32_t> ratios;
    ratios.reserve(layers_.size());
    for (auto const* const layer : layers_)
      ratios.push_back(static_cast<std::int32_t>(std::min<std::size_t>(layer->pooled, 65'536)));
    draft_.set_list("attention.compress_ratios", std::move(ratios));
    auto const* const some = first([](kind const& k) { return k.window.has_value(); });
    if (some != nullptr) draft_.set_count("attention.sliding_window", *some->window);
    write_index();
  }

  /// The first layers, which rotate or have no index whatever the others do.
  void write_dense_layers() {
    if (!known_.rope_on_dense && !known_.index.after_dense) return;
    std::size_t dense = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      auto const& layer = *layers_[i];
      bool const is_dense =
          known_.rope_on_dense ? !slides(layer) && !layer.rotary.empty() : !layer.index;
      if (is_dense) dense = i + 1;
    }
    draft_.set_count("leading_dense_block_count", dense);
  }

  void write_index() {
    auto const* const layer = first([](kind const& k) { return k.index.has_value(); });
    if (layer == nullptr || !draft_.reads("attention.indexer.top_k")) return;
    auto const& index = *layer->index;
    draft_.set_count("attention.indexer.head_count", index.heads);
    draft_.set_count("attention.indexer.key_length", index.head_dim);
    draft_.set_count("attention.indexer.top_k", index.chosen);
    if (!draft_.reads("attention.indexer.block_size")) return;
    draft_.set_count("attention.indexer.block_size", index.block);
    draft_.set_count("attention.indexer.local_blocks", index.local_blocks);
  }

  void write_scores() {
    auto const* const some = first_with_attention();
    if (some == nullptr) return;
    auto const root = std::sqrt(static_cast<double>(some->head_dim));
    if (draft_.reads(known_.scale_key)) {
      auto const by_default = known_.attention_scale == 0 ? 1 / root : known_.attention_scale;
      draft_.set_unless(known_.scale_key, some->softmax_factor / root, by_default);
    }
    constexpr std::string_view cap = "attn_logit_softcapping";
    if (some->score_cap && draft_.reads(cap)) draft_.set_number(cap, *some->score_cap);
    constexpr std::string_view max_bias = "attention.max_alibi_bias";
    if (some->alibi && draft_.reads(max_bias)) {
      draft_.set_number(max_bias, some->alibi->max_bias);
    }
    if (some->buckets && draft_.reads(gguf_group::bucket_count)) {
      draft_.set_count("attention.relative_buckets_count", some->buckets->buckets);
    }
  }

  void write_temperature() {
    auto const* const layer = first([](kind const& k) { return k.temperature.has_value(); });
    if (layer == nullptr || !draft_.reads("attention.temperature_scale")) return;
    draft_.set_number("attention.temperature_scale", layer->temperature->scale);
    draft_.set_length(draft_.reads("attention.temperature_length")
                          ? "attention.temperature_length"
                          : "rope.scaling.original_context_length",
                      layer->temperature->floor_scale);
  }

  model_description const& model_;
  gguf_surroundings const& around_;
  gguf_draft draft_;
  gguf_architecture const& known_;
  std::vector<kind const*> layers_;
};

}  // namespace detail
}  // namespace posenc
