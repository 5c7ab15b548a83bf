// From the keys of a GGUF file, and its tensors of factors, to frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/gguf/config.hpp"
#include "posenc/model/gguf/rope_keys.hpp"
#include "posenc/model/rope_result.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// The RoPE rule of one kind of layers.
class gguf_rope_rule : gguf_rope_keys {
 public:
  gguf_rope_rule(gguf_config& config, bool slides, std::size_t rotary_dim)
      : gguf_rope_keys(config, slides, rotary_dim) {}

  rope_result read() {
    auto const given = this->base();
    auto const base = given.changed;
    auto const type = this->type();
    auto const factor = type == "none" ? 1 : this->factor();
    auto const attention = this->attention();
    used("rope_theta", given.given);
    if (known_.unscaled || (slides_ && known_.unscaled_local)) {
      return made("default", geometric(dim_, base));
    }
    if (slides_ && known_.local_base != 0) {
      return made("default", times(geometric(dim_, base),
                                   attention * (type == "yarn" ? unscaled_gain(factor) : 1)));
    }
    auto const share = extrapolated(type);
    bool const is_ntk = given.alpha != 0 && factor == 1 && share == 0;
    if (given.alpha != 0) used(is_ntk ? "alpha" : "rope.scaling.alpha", given.alpha);
    if (share != 0) return read_yarn(base, factor, attention, share);

    auto const name = std::string(factor != 1 ? "linear" : is_ntk ? "ntk" : "default");
    auto const gain = attention * config_.positive("rope.scaling.yarn_attn_factor").value_or(1);
    auto const scaled = times(linear(geometric(dim_, base), factor), gain);
    if (auto const divisors = factors("rope_freqs.weight")) {
      if (factor != 1) used("factor", factor);
      return made(name, divided_by_factors(scaled, *divisors), 1, true);
    }
    auto const longs = factors("rope_factors_long.weight");
    auto const shorts = factors("rope_factors_short.weight");
    if (longs && shorts) {
      if (factor != 1) used("rope.scaling.factor", factor);
      return read_longrope(linear(geometric(dim_, base), factor), *longs, *shorts);
    }
    if (longs || shorts) {
      refuse(config_.file.file(),
             ": rope_factors_long.weight and rope_factors_short.weight must be given together, "
             "got one");
    }
    config_.file.require(
        type != "longrope", config_.key("rope.scaling.type"),
        "come with the tensors rope_factors_long.weight and rope_factors_short.weight");
    if (factor != 1) used("factor", factor);
    return made(name, scaled);
  }

 private:
  /// ggml multiplies rotated vectors by 1 + 0.1 ln(factor); llama.cpp divides by that and
  /// multiplies by the model's own factor, so that the latter is what remains.
  rope_result read_yarn(double base, double factor, double attention, double share) {
    if (!has_factor()) config_.assumed("rope.scaling.factor", 1.0);
    auto const original = static_cast<double>(original_length());
    auto const positive_or = [&](char const* name, double value) {
      return config_.positive(name).value_or(value);
    };
    yarn_scaling scaling{.factor = factor, .original_length = original};
    scaling.beta_fast = positive_or("rope.scaling.yarn_beta_fast", known_.beta_fast);
    scaling.beta_slow = positive_or("rope.scaling.yarn_beta_slow", 1);
    if (config_.number("rope.scaling.yarn_attn_factor").value_or(1) != 1) {
      config_.note(config_.key("rope.scaling.yarn_attn_factor") +
                   " is without effect: llama.cpp computes another in its place.");
    }
    auto const all_dim = mscale_all_dim();
    auto const mscale = known_.mscale_is_all_dim ? all_dim : 1;  // files hold mscale_all_dim alone
    auto const of_scores = yarn_magnitude(factor, all_dim);
    auto const own = known_.compressed ? 1
                     : all_dim == 0    ? yarn_magnitude(factor)
                                       : yarn_magnitude(factor, mscale) / of_scores;
    scaling.attention_factor = own * attention;
    auto const on_scores =
        known_.mscale_on_scores ? own * attention * of_scores * own * attention * of_scores : 1;
    scaling.extrapolation = share;
    used("factor", factor);
    used("original_max_position_embeddings", original);
    used("beta_fast", scaling.beta_fast);
    used("beta_slow", scaling.beta_slow);
    parameters_.push_back({"truncate", "true"});
    used("attention_factor", *scaling.attention_factor);
    if (all_dim != 0) used("mscale_all_dim", all_dim);
    if (share != 1) used("rope.scaling.yarn_ext_factor", share);
    auto const f = yarn(dim_, base, scaling);
    if (auto const divisors = factors("rope_freqs.weight")) {
      return made("yarn", divided_by_factors(f, *divisors), on_scores, true);
    }
    return made("yarn", f, on_scores);
  }

  /// With YaRN, llama.cpp divides by 1 + 0.1 ln(factor) for all layers, and ggml multiplies by it
  /// only where layers are scaled. This is what remains in the others: 1 for factors of 1 and
  /// above.
  double unscaled_gain(double factor) {
    auto const divisor = 1 + 0.1 * std::log(factor);
    config_.file.require(divisor > 0, config_.key("rope.scaling.factor"),
                         "be above exp(-10) with YaRN");
    return yarn_magnitude(factor) / divisor;
  }

  rope_result read_longrope(frequencies const& series, std::vector<double> longs,
                            std::vector<double> shorts) {
    auto const given = config_.positive("rope.scaling.attn_factor");
    auto const attention = given ? *given : config_.assumed("rope.scaling.attn_factor", 1.0);
    auto const original = original_length();
    used("original_max_position_embeddings", static_cast<double>(original));
    used("factor", static_cast<double>(config_.found.context.value_or(original)) /
                       static_cast<double>(original));
    used("attention_factor", attention);
    used("short_factor", shorts);
    used("long_factor", longs);
    longrope_scaling scaling{.short_factor = std::move(shorts),
                             .long_factor = std::move(longs),
                             .original_length = static_cast<double>(original),
                             .attention_factor = attention};
    auto const at = [series, scaling = std::move(scaling)](std::size_t length) {
      return longrope(series, scaling, static_cast<double>(std::max<std::size_t>(length, 1)));
    };
    at(1);  // throws here rather than when it is used
    config_.note("LongRoPE: the short list up to " + shown(original) +
                 " tokens, the long one beyond. llama.cpp chooses by its context instead.");
    return made("longrope", frequencies_by_length(at));
  }

  static frequencies times(frequencies const& f, double gain) {
    auto const kept = [](std::size_t, auto const& inv_freq) { return inv_freq; };
    return changed(f, kept, gain);
  }

  /// Records a number of the rule, as rotary_description::parameters has it.
  void used(char const* key, double value) { parameters_.push_back({key, shown(value)}); }
  void used(char const* key, std::vector<double> const& values) {
    std::string list;
    for (auto const value : values) list += (list.empty() ? "[" : ",") + shown(value);
    parameters_.push_back({key, list + "]"});
  }
  rope_result made(std::string const& rule, frequencies_by_length f, double on_scores = 1,
                   bool has_pair_factors = false) {
    auto const gain = f.at(1).attention_factor();
    bool const has_word = rule == "yarn" || rule == "longrope";
    if (!has_word && gain != 1) used("rope.scaling.attn_factor", gain);
    if (has_pair_factors) parameters_.push_back({"rope_freqs.weight", "true"});
    auto const type = rule == "ntk" ? "dynamic" : rule;  // alpha makes it NTK
    parameters_.insert(parameters_.begin(), {"rope_type", "\"" + type + "\""});
    return {rule, std::move(f), on_scores, has_pair_factors, std::move(parameters_)};
  }

  std::vector<model_setting> parameters_ = {};
};

}  // namespace detail
}  // namespace posenc
