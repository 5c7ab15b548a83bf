#pragma once

/// Random settings for any architecture of llama.cpp.

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "posenc/model/gguf.hpp"

namespace gguf_models {

using posenc::detail::gguf_group;
using std::uint32_t;

/// Has the keys that llama.cpp reads for the architecture.
class random_file {
 public:
  random_file(std::string_view architecture, std::uint64_t seed)
      : known_(*posenc::detail::gguf_architectures::find(architecture)),
        name_(architecture),
        random_(seed) {}

  gguf_writer operator()() {
    auto const layers = known_.alibi_if_layers != 0 ? 8 : uint32_t(8 * upto(1, 4));
    auto const dim = 32u * upto(1, 8), heads = 4u;
    auto file =
        gguf_models::common(name_, {layers, 1000 * upto(1, 100), dim * heads, heads, heads});
    auto const set = [&](char const* key, auto value) { file.set(name_ + "." + key, value); };
    auto const reads = [&](unsigned group) { return (known_.reads & group) != 0; };
    auto const rotary = known_.whole_head ? dim : 4u * upto(1, dim / 4);
    set(reads(gguf_group::latent_length) ? "attention.key_length_mla" : "attention.key_length",
        dim);
    set("rope.dimension_count", rotary);
    if (known_.only_base == 0) set("rope.freq_base", number(2, 1e7f));
    if (reads(gguf_group::local_base) && maybe()) set("rope.freq_base_swa", number(2, 1e7f));
    if (reads(gguf_group::window) && (known_.compressed || !known_.chunked_where_rotated)) {
      set("attention.sliding_window", 2 * upto(1, 1000));
      if (reads(gguf_group::pattern)) write_pattern(file, layers);
    }
    if (known_.rotation == posenc::detail::rotation_rule::sliding_and_dense_layers ||
        known_.index.after_dense)
      set("leading_dense_block_count", upto(0, layers - 1));
    auto const pairs = rotary / 2 / (known_.half_on_full ? 2 : 1);
    write_scaling(file, pairs);
    if (reads(gguf_group::sections) && (known_.has_axes || maybe())) {
      auto const h = static_cast<std::int32_t>(upto(1, pairs / 3 + 1));
      auto const n = static_cast<std::int32_t>(pairs);
      file.list(name_ + ".rope.dimension_sections", std::vector<std::int32_t>{n - h, h, 0, 0});
    }
    if (reads(gguf_group::interval) && maybe()) set("full_attention_interval", upto(1, layers));
    if (reads(gguf_group::finetuned) && maybe()) set("rope.scaling.finetuned", maybe());
    if (reads(gguf_group::scale) && maybe()) set("attention.scale", number(0.01f, 1));
    if (reads(gguf_group::output_scale) && maybe()) set("attention.output_scale", number(0.01f, 1));
    if (reads(gguf_group::cap)) set("attn_logit_softcapping", number(1, 100));
    if (reads(gguf_group::temperature) && maybe()) {
      set("attention.temperature_scale", number(0.01f, 1));
      if (reads(gguf_group::temperature_length)) set("attention.temperature_length", upto(1, 9999));
    }
    if (reads(gguf_group::max_bias) && maybe()) set("attention.max_alibi_bias", number(1, 16));
    if (reads(gguf_group::bucket_count)) set("attention.relative_buckets_count", upto(1, 64));
    if (reads(gguf_group::index)) {
      set("attention.indexer.head_count", upto(1, 64));
      set("attention.indexer.key_length", rotary + upto(0, 64));
      set("attention.indexer.top_k", upto(1, 4096));
    }
    if (reads(gguf_group::index_pool)) set("attention.indexer.kpool", upto(1, 16));
    if (reads(gguf_group::index_blocks)) {
      set("attention.indexer.block_size", upto(1, 512));
      set("attention.indexer.local_blocks", upto(0, 4));
    }
    if (reads(gguf_group::compression)) {
      std::vector<std::int32_t> ratios;
      for (uint32_t i = 0; i < layers; ++i)
        ratios.push_back(std::vector<std::int32_t>{0, 4, 128}[upto(0, 2)]);
      file.list(name_ + ".attention.compress_ratios", ratios);
      set("attention.compress_rope_freq_base", number(2, 1e7f));
    }
    return file;
  }

 private:
  uint32_t upto(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random_);
  }
  bool maybe() { return upto(0, 1) == 1; }
  float number(float least, float most) {
    auto const share = std::uniform_real_distribution<double>(0, 1)(random_);
    return static_cast<float>(least * std::pow(double{most} / double{least}, share));
  }

  void write_pattern(gguf_writer& file, uint32_t layers) {
    auto const key = name_ + ".attention.sliding_window_pattern";
    if ((known_.reads & gguf_group::pattern_list) == 0) return void(file.set(key, upto(0, layers)));
    std::vector<bool> slides;
    for (uint32_t i = 0; i < layers; ++i) slides.push_back(maybe());
    file.list(key, slides);
  }

  void write_scaling(gguf_writer& file, uint32_t pairs) {
    auto const set = [&](char const* key, auto value) { file.set(name_ + "." + key, value); };
    auto const reads = [&](unsigned group) { return (known_.reads & group) != 0; };
    bool const has_tensor = reads(gguf_group::pair_factors) && maybe();
    bool const has_lists = !has_tensor && reads(gguf_group::length_factors) && maybe();
    auto const list = [&] {
      std::vector<float> factors;
      for (uint32_t i = 0; i < pairs; ++i) factors.push_back(i % 7 == 5 ? 1e30f : number(0.5f, 64));
      return factors;
    };
    auto const type = has_lists ? 0 : upto(0, 2);
    if (maybe()) set("rope.scaling.attn_factor", number(0.5f, 2));
    if (type == 1) set("rope.scaling.type", "linear");
    if (type == 2) set("rope.scaling.type", "yarn");
    if (type != 0 || has_lists) set("rope.scaling.original_context_length", 1000 * upto(1, 32));
    if (type != 0) set("rope.scaling.factor", number(0.5f, 64));
    if (type == 2 && reads(gguf_group::yarn_betas)) {
      set("rope.scaling.yarn_beta_fast", number(8, 64));
      set("rope.scaling.yarn_beta_slow", number(0.5f, 8));
    }
    if (type == 2 && reads(gguf_group::yarn_ext_factor) && maybe())
      set("rope.scaling.yarn_ext_factor", number(0.1f, 1));
    if (type == 2 && reads(gguf_group::yarn_log_multiplier) && maybe())
      set("rope.scaling.yarn_log_multiplier", number(0.01f, 1));
    if (reads(gguf_group::base_alpha) && maybe()) set("rope.scaling.alpha", number(1, 1000));
    if (has_tensor) {
      auto factors = list();
      if (known_.shared_factors) factors.resize(4 * factors.size(), 1.0f);
      file.tensor("rope_freqs.weight", factors);
    }
    if (has_lists) file.tensor("rope_factors_long.weight", list());
    if (has_lists) file.tensor("rope_factors_short.weight", list());
  }

  posenc::detail::model_family known_;
  std::string name_;
  std::mt19937_64 random_;
};

}  // namespace gguf_models
