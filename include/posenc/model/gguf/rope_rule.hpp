// From the keys of a GGUF file, and its tensors of factors, to frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/divided_by_factors.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/gguf/config.hpp"
#include "posenc/model/rope_result.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// The RoPE rule of one kind of layers.
class gguf_rope_rule {
 public:
  gguf_rope_rule(gguf_config& config, bool slides, std::size_t rotary_dim)
      : config_(config), known_(config.architecture), slides_(slides), dim_(rotary_dim) {}

  rope_result read() {
    auto const base = this->base();
    auto const type = this->type();
    auto const factor = type == "none" ? 1 : this->factor();
    auto const attention = this->attention();
    if (known_.unscaled || (slides_ && known_.unscaled_local)) {
      return {"default", geometric(dim_, base)};
    }
    if (slides_ && known_.local_base != 0) {
      auto const gain = attention * (type == "yarn" ? unscaled_gain(factor) : 1);
      return {"default", times(geometric(dim_, base), gain)};
    }
    auto const share = extrapolated(type);
    if (share != 0) return read_yarn(base, factor, attention, share);

    bool const has_alpha = config_.positive_or_none("rope.scaling.alpha").has_value();
    auto const name = std::string(factor != 1 ? "linear" : has_alpha ? "ntk" : "default");
    auto const gain = attention * config_.positive("rope.scaling.yarn_attn_factor").value_or(1);
    auto const scaled = times(linear(geometric(dim_, base), factor), gain);
    if (auto const divisors = factors("rope_freqs.weight")) {
      return {name, divided_by_factors(scaled, *divisors), 1, true};
    }
    auto const longs = factors("rope_factors_long.weight");
    auto const shorts = factors("rope_factors_short.weight");
    if (longs && shorts)
      return read_longrope(linear(geometric(dim_, base), factor), *longs, *shorts);
    if (longs || shorts) {
      refuse(config_.file.file(),
             ": rope_factors_long.weight and rope_factors_short.weight must be given together, "
             "got one");
    }
    config_.file.require(
        type != "longrope", config_.key("rope.scaling.type"),
        "come with the tensors rope_factors_long.weight and rope_factors_short.weight");
    return {name, scaled};
  }

 private:
  double base() {
    auto const above_one = [&](char const* name) {
      auto const given = config_.number(name);
      if (given) config_.file.require(*given > 1, config_.key(name), "be above 1");
      return given;
    };
    auto const all = above_one("rope.freq_base");
    auto const local = above_one("rope.freq_base_swa");
    if (slides_ && local) return *local;
    if (slides_ && known_.local_base != 0) {
      return config_.assumed("rope.freq_base_swa", known_.local_base);
    }
    if (known_.compressed && !slides_) {
      constexpr auto name = "attention.compress_rope_freq_base";
      auto const compressed = above_one(name);
      if (!compressed) config_.file.refuse(config_.key(name), "be given");
      return *compressed;
    }
    if (all && known_.only_base != 0) {
      config_.file.require(*all == known_.only_base, config_.key("rope.freq_base"),
                           "be " + shown(known_.only_base) + ": llama.cpp has no other for this");
    }
    auto const base = all ? *all : config_.assumed("rope.freq_base", 1e4);
    auto const alpha = config_.positive_or_none("rope.scaling.alpha");
    if (!alpha) return base;
    auto const d = static_cast<double>(dim_);  // XD-RoPE's is NTK-aware, by its base
    auto const changed = base * std::pow(*alpha, d / (d - 2));
    config_.file.require(is_finite(changed) && changed > 1, config_.key("rope.scaling.alpha"),
                         "leave freq_base * alpha^(d / (d - 2)) finite and above 1");
    return changed;
  }

  std::string type() {
    constexpr auto key = "rope.scaling.type";
    auto const given = config_.text(key);
    auto name = given.value_or("linear");
    bool const is_known =
        name == "none" || name == "linear" || name == "yarn" || name == "longrope";
    config_.file.require(is_known, config_.key(key), "be one of none, linear, yarn, longrope");
    if (!given && has_factor() && factor() != 1) {
      config_.assume(config_.key(key) + " is not given: linear, as llama.cpp has it.");
    }
    return name;
  }

  bool has_factor() {
    return config_.has("rope.scaling.factor") || config_.has("rope.scale_linear");
  }

  double factor() {
    auto const old = config_.number("rope.scale_linear");
    auto const current = config_.number("rope.scaling.factor");
    auto const given = current ? current : old;
    if (!given || *given == 0) return 1;  // llama.cpp writes 0 for none
    auto const key = config_.key(current ? "rope.scaling.factor" : "rope.scale_linear");
    config_.file.require(*given > 0, key, "be 0 or above");
    return *given;
  }

  /// The model's own factor of rotated vectors.
  double attention() {
    constexpr auto key = "rope.scaling.attn_factor";
    auto const given = config_.positive(key).value_or(1);
    if (given == 1 || !known_.compressed) return given;
    config_.note(config_.key(key) + " is without effect: llama.cpp has 1 in its place.");
    return 1;
  }

  std::size_t original_length() {
    auto const given = config_.count("rope.scaling.original_context_length", 1, gguf_most_tokens);
    if (given) return *given;
    auto const key = config_.key("rope.scaling.original_context_length");
    if (!config_.found.context) config_.file.refuse(key, "be given where context_length is not");
    config_.assume(key + " is not given: context_length, " + shown(*config_.found.context) +
                   ", as llama.cpp has it.");
    return *config_.found.context;
  }

  /// ggml's ext_factor: the share of YaRN in the frequencies, the rest is linear. 0 is not YaRN.
  double extrapolated(std::string const& type) {
    constexpr auto key = "rope.scaling.yarn_ext_factor";
    auto const by_type = type == "yarn" ? 1.0 : 0.0;
    auto const given = config_.number(key).value_or(-1);
    config_.file.require(given <= 1, config_.key(key),
                         "be at most 1, or below 0, which leaves it to rope.scaling.type");
    return given < 0 ? by_type : given;
  }

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
    auto const f = yarn(dim_, base, scaling);
    if (auto const divisors = factors("rope_freqs.weight")) {
      return {"yarn", divided_by_factors(f, *divisors), on_scores, true};
    }
    return {"yarn", f, on_scores};
  }

  /// What llama.cpp's division leaves in layers that ggml rotates by the factor 1: for factors
  /// below 1, YaRN's magnitude is 1, and the divisor is not.
  double unscaled_gain(double factor) {
    auto const divisor = 1 + 0.1 * std::log(factor);
    config_.file.require(divisor > 0, config_.key("rope.scaling.factor"),
                         "be above exp(-10) with YaRN");
    return yarn_magnitude(factor) / divisor;
  }

  /// 0 where it is not given. DeepSeek's files hold a tenth of it.
  double mscale_all_dim() {
    constexpr auto key = "rope.scaling.yarn_log_multiplier";
    auto const given = config_.number(key).value_or(0);
    config_.file.require(given >= 0, config_.key(key), "be 0 or above");
    return known_.mscale_on_scores ? 10 * given : given;
  }

  rope_result read_longrope(frequencies const& series, std::vector<double> longs,
                            std::vector<double> shorts) {
    auto const given = config_.positive("rope.scaling.attn_factor");
    auto const attention = given ? *given : config_.assumed("rope.scaling.attn_factor", 1.0);
    auto const original = original_length();
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
    return {"longrope", frequencies_by_length(at)};
  }

  /// The tensor that divides frequencies, a factor for each pair.
  std::optional<std::vector<double>> factors(std::string const& tensor) {
    auto given = config_.file.values(tensor);
    if (!given) return {};
    auto const where = config_.file.file() + ": " + tensor;
    auto const pairs = dim_ / 2;
    if (known_.shared_factors && given->size() > pairs) given->resize(pairs);
    require(given->size() == pairs, where, " must have one factor for each of the ", pairs,
            " pairs, got ", given->size());
    for (auto const f : *given) {
      require(is_finite(f) && f > 0, where, " must have finite factors above 0, got ", f);
    }
    return given;
  }

  static frequencies times(frequencies const& f, double gain) {
    auto const kept = [](std::size_t, auto const& inv_freq) { return inv_freq; };
    return changed(f, kept, gain);
  }

  gguf_config& config_;
  gguf_architecture const& known_;
  bool slides_;
  std::size_t dim_;
};

}  // namespace detail
}  // namespace posenc
