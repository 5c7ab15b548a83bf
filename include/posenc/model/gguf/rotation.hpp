// How one kind of layers rotates queries and keys, by the keys of a GGUF file.
#pragma once

#include <cmath>

#include "posenc/core/target.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/model/gguf/config.hpp"
#include "posenc/model/gguf/rope_keys.hpp"
#include "posenc/model/rope_rule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The RoPE rule of one kind of layers.
class gguf_rope_rule : rope_record {
 public:
  gguf_rope_rule(gguf_config& config, bool slides, std::size_t rotary_dim)
      : config_(config), known_(config.architecture), slides_(slides), dim_(rotary_dim) {}

  /// DeepSeek's factor on scores.
  double on_scores = 1;

  /// Without layout, block and axes.
  rotary_description read() {
    auto const base = gguf_base_of(config_, slides_, dim_);
    auto const type = gguf_rope_scaling(config_);
    auto const factor = type == "none" ? 1 : gguf_factor(config_);
    auto const attention = gguf_attention_factor(config_);
    used("rope_theta", base.given);
    rope_numbers n{.head_dim = dim_, .rotary_dim = dim_, .base = base.changed, .factor = factor};
    if (known_.unscaled || (slides_ && known_.unscaled_local)) {
      return made("default", rule_of("default", n));
    }
    if (slides_ && known_.local_base != 0) {
      auto const gain = attention * (type == "yarn" ? unscaled_gain(factor) : 1);
      return made("default", times(rule_of("default", n), gain));
    }
    auto const share = gguf_share_of_yarn(config_, type);
    bool const is_ntk = base.alpha != 0 && factor == 1 && share == 0;
    if (base.alpha != 0) used(is_ntk ? "alpha" : "rope.scaling.alpha", base.alpha);
    if (share != 0) {
      auto const yarn = gguf_yarn_of(config_, factor, attention, share);
      record(yarn);
      on_scores = yarn.on_scores;
      n.yarn = yarn.scaling;
      return divided("yarn", rule_of("yarn", n));
    }
    auto const gain = attention * config_.positive("rope.scaling.yarn_attn_factor").value_or(1);
    auto const scaled = times(rule_of("linear", n), gain);
    if (!config_.file.values("rope_freqs.weight")) {
      auto const longs = factors("rope_factors_long.weight");
      auto const shorts = factors("rope_factors_short.weight");
      if (longs && shorts) {
        if (factor != 1) used("rope.scaling.factor", factor);
        n.divisor = factor;
        return read_longrope(n, *longs, *shorts);
      }
      require(!longs && !shorts, config_.file.file(),
              ": rope_factors_long.weight and rope_factors_short.weight must be given together, "
              "got one");
      config_.require(
          type != "longrope", "rope.scaling.type",
          "come with the tensors rope_factors_long.weight and rope_factors_short.weight");
    }
    if (factor != 1) used("factor", factor);
    return divided(factor != 1 ? "linear" : is_ntk ? "ntk" : "default", scaled);
  }

 private:
  rotary_description read_longrope(rope_numbers& n, std::vector<double> const& longs,
                                   std::vector<double> const& shorts) {
    constexpr auto name = "rope.scaling.attn_factor";
    auto const given = config_.positive(name);
    auto const attention = given ? *given : config_.assumed(name, 1.0);
    auto const original = gguf_original_length(config_);
    auto const context = config_.found.context;
    used("original_max_position_embeddings", original);
    used("factor", context ? static_cast<double>(*context) / original : 1);
    used("attention_factor", attention);
    used("short_factor", list(shorts));
    used("long_factor", list(longs));
    n.longrope = {.short_factor = shorts,
                  .long_factor = longs,
                  .original_length = original,
                  .attention_factor = attention};
    auto f = rule_of("longrope", n);
    config_.note("LongRoPE: the short list up to " + shown(original) +
                 " tokens, the long one beyond. llama.cpp chooses by its context instead.");
    return made("longrope", std::move(f));
  }

  /// With YaRN, llama.cpp divides by 1 + 0.1 ln(factor) for all layers, and ggml multiplies by it
  /// only where layers are scaled. This is what remains in the others: 1 for factors of 1 and
  /// above.
  double unscaled_gain(double factor) {
    auto const divisor = 1 + 0.1 * std::log(factor);
    config_.require(divisor > 0, "rope.scaling.factor", "be above exp(-10) with YaRN");
    return yarn_magnitude(factor) / divisor;
  }

  static frequencies times(frequencies_by_length const& f, double gain) {
    return changed(
        f.at(1), [](std::size_t, auto const& inv_freq) { return inv_freq; }, gain);
  }
  static std::string list(std::vector<double> const& values) {
    std::string result;
    for (auto const value : values) result += (result.empty() ? "[" : ",") + shown(value);
    return result + "]";
  }
  std::optional<std::vector<double>> factors(char const* tensor) {
    return gguf_factors(config_, tensor, dim_ / 2);
  }

  void record(gguf_yarn const& yarn) {
    auto const& scaling = yarn.scaling;
    used("factor", scaling.factor);
    used("original_max_position_embeddings", scaling.original_length);
    used("beta_fast", scaling.beta_fast);
    used("beta_slow", scaling.beta_slow);
    used("truncate", std::string("true"));
    used("attention_factor", *scaling.attention_factor);
    if (yarn.mscale_all_dim != 0) used("mscale_all_dim", yarn.mscale_all_dim);
    if (scaling.extrapolation != 1) used("rope.scaling.yarn_ext_factor", scaling.extrapolation);
  }

  /// Divided by the tensor rope_freqs, if the file has it.
  rotary_description divided(std::string rule, frequencies_by_length f) {
    auto const divisors = factors("rope_freqs.weight");
    if (divisors) f = divided_by_factors(f.at(1), *divisors);
    return made(std::move(rule), std::move(f), divisors.has_value());
  }
  rotary_description made(std::string rule, frequencies_by_length f,
                          bool has_pair_factors = false) {
    auto const gain = f.at(1).attention_factor();
    bool const has_word = rule == "yarn" || rule == "longrope";
    if (!has_word && gain != 1) used("rope.scaling.attn_factor", gain);
    if (has_pair_factors) used("rope_freqs.weight", std::string("true"));
    auto const type = rule == "ntk" ? "dynamic" : rule;  // alpha makes it NTK
    parameters.insert(parameters.begin(), {"rope_type", "\"" + type + "\""});
    return {.rule = std::move(rule),
            .frequencies = std::move(f),
            .layout = halves(),
            .has_pair_factors = has_pair_factors,
            .parameters = std::move(parameters)};
  }

  gguf_config& config_;
  gguf_architecture const& known_;
  bool slides_;
  std::size_t dim_;
};

inline std::size_t gguf_rotary_dim(gguf_config const& config, bool slides, std::size_t head_dim) {
  auto const& known = config.architecture;
  if (known.whole_head) return head_dim;
  auto const all = config.count("rope.dimension_count", most_dims);
  auto const local = config.count("rope.dimension_count_swa", most_dims);
  bool const is_local = slides && local;
  auto const given = is_local ? *local : all.value_or(head_dim);
  auto const dim = known.half_on_full && !slides ? given / 2 : given;
  config.require(dim % 2 == 0 && dim <= head_dim,
                 is_local ? "rope.dimension_count_swa"
                 : all    ? "rope.dimension_count"
                          : "attention.key_length",
                 "give an even number of rotary dims within the " + shown(head_dim) + " of a head");
  return dim;
}

/// The axis of each pair, where rope.dimension_sections are given or needed.
inline std::optional<pair_axes> gguf_axes(gguf_config& config, std::size_t pairs) {
  constexpr auto name = "rope.dimension_sections";
  bool const interleave = config.architecture.rope == gguf_rope_type::imrope;
  bool const needed = interleave || config.architecture.rope == gguf_rope_type::mrope;
  if (!config.reads(name)) return {};
  auto const given = config.file.numbers(config.key(name));
  if (needed && !given) config.refuse(name, "be given");
  if (!given) return {};
  auto const where = config.file.file() + ": " + config.key(name);
  auto sections = axis_sections(where, *given);
  config.require(sections.size() == 3 || sections.size() == 4, name, "have 3 or 4 sections");
  bool const has_axes = sections[0] != 0 && sections[1] != 0;  // llama_hparams::use_mrope
  if (!has_axes && !needed) return {};
  if (sections.size() == 4 && sections.back() == 0) sections.pop_back();
  auto result = axes_of(where, sections, pairs, interleave);
  bool differs = false;
  for (std::size_t i = 0; interleave && i < pairs; ++i) differs |= i >= 3 * sections[i % 3];
  if (differs) {
    config.note(
        "Pairs beyond the section of their axis take the first axis, as in the model's own code. "
        "ggml has a fourth axis for them.");
  }
  return result;
}

/// Reads the rotation of a kind of layers, which has its head_dim already.
inline void read_gguf_rotation(gguf_config& config, bool slides, layer_description& kind) {
  auto const& known = config.architecture;
  auto const dim = gguf_rotary_dim(config, slides, kind.head_dim);
  gguf_rope_rule rule(config, slides, dim);
  auto rotary = rule.read();
  kind.softmax_factor *= rule.on_scores;
  rotary.axes = gguf_axes(config, dim / 2);
  if (known.rope == gguf_rope_type::norm && !rotary.axes) rotary.layout = interleaved();
  if (known.last_dims) rotary.block = rotary_block::last();
  kind.rotary.push_back(std::move(rotary));
}

}  // namespace posenc::detail
