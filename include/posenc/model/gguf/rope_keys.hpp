// The keys of a GGUF file about rotation, and its tensors of factors.
#pragma once

#include <cmath>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/gguf/config.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The base that the file gives, the base that acts, and the alpha that changed it, or 0.
struct gguf_base {
  double given, changed = given, alpha = 0;
};

inline gguf_base gguf_base_of(gguf_config& config, bool slides, std::size_t dim) {
  auto const& known = config.architecture;
  auto const above_one = [&](char const* name) {
    auto const given = config.number(name);
    if (given) config.require(*given > 1, name, "be above 1");
    return given;
  };
  auto const all = above_one("rope.freq_base");
  auto const local = above_one("rope.freq_base_swa");
  if (slides && local) return {*local};
  if (slides && known.local_base != 0) {
    return {config.assumed("rope.freq_base_swa", known.local_base)};
  }
  if (known.compressed && !slides) {
    constexpr auto name = "attention.compress_rope_freq_base";
    auto const compressed = above_one(name);
    if (!compressed) config.refuse(name, "be given");
    return {*compressed};
  }
  if (all && known.only_base != 0) {
    config.require(*all == known.only_base, "rope.freq_base",
                   "be " + shown(known.only_base) + ": llama.cpp has no other for this");
  }
  auto const base = all ? *all : config.assumed("rope.freq_base", 1e4);
  auto const alpha = config.positive_or_none("rope.scaling.alpha");
  if (!alpha) return {base};
  auto const d = static_cast<double>(dim);  // XD-RoPE's is NTK-aware, by its base
  auto const changed = base * std::pow(*alpha, d / (d - 2));
  config.require(is_finite(changed) && changed > 1, "rope.scaling.alpha",
                 "leave freq_base * alpha^(d / (d - 2)) finite and above 1");
  return {base, changed, *alpha};
}

inline bool gguf_has_factor(gguf_config const& config) {
  return config.has("rope.scaling.factor") || config.has("rope.scale_linear");
}

inline double gguf_factor(gguf_config const& config) {
  auto const old = config.number("rope.scale_linear");
  auto const current = config.number("rope.scaling.factor");
  auto const given = current ? current : old;
  if (!given || *given == 0) return 1;  // llama.cpp writes 0 for none
  config.require(*given > 0, current ? "rope.scaling.factor" : "rope.scale_linear",
                 "be 0 or above");
  return *given;
}

inline std::string gguf_rope_scaling(gguf_config& config) {
  constexpr auto name = "rope.scaling.type";
  auto const given = config.text(name);
  auto type = given.value_or("linear");
  config.require(type == "none" || type == "linear" || type == "yarn" || type == "longrope", name,
                 "be one of none, linear, yarn, longrope");
  if (!given && gguf_has_factor(config) && gguf_factor(config) != 1) {
    config.assume(config.key(name) + " is not given: linear, as llama.cpp has it.");
  }
  return type;
}

/// The model's own factor of rotated vectors.
inline double gguf_attention_factor(gguf_config& config) {
  constexpr auto name = "rope.scaling.attn_factor";
  auto const given = config.positive(name).value_or(1);
  if (given == 1 || !config.architecture.compressed) return given;
  config.note(config.key(name) + " is without effect: llama.cpp has 1 in its place.");
  return 1;
}

inline double gguf_original_length(gguf_config& config) {
  constexpr auto name = "rope.scaling.original_context_length";
  auto length = config.count(name, most_tokens);
  if (!length) {
    length = config.found.context;
    if (!length) config.refuse(name, "be given where context_length is not");
    config.assume(config.key(name) + " is not given: context_length, " + shown(*length) +
                  ", as llama.cpp has it.");
  }
  return static_cast<double>(*length);
}

/// ggml's ext_factor: the share of YaRN in the frequencies, the rest is linear. 0 is not YaRN.
inline double gguf_share_of_yarn(gguf_config const& config, std::string_view type) {
  constexpr auto name = "rope.scaling.yarn_ext_factor";
  auto const given = config.number(name).value_or(-1);
  config.require(given <= 1, name,
                 "be at most 1, or below 0, which leaves it to rope.scaling.type");
  return given >= 0 ? given : type == "yarn" ? 1 : 0;
}

/// The tensor that divides frequencies, a factor for each pair.
inline std::optional<std::vector<double>> gguf_factors(gguf_config const& config,
                                                       std::string const& tensor,
                                                       std::size_t pairs) {
  auto given = config.file.values(tensor);
  if (!given) return {};
  auto const where = config.file.file() + ": " + tensor;
  if (config.architecture.shared_factors && given->size() > pairs) given->resize(pairs);
  require(given->size() == pairs, where, " must have one factor for each of the ", pairs,
          " pairs, got ", given->size());
  for (auto const f : *given) {
    require(is_finite(f) && f > 0, where, " must have finite factors above 0, got ", f);
  }
  return given;
}

/// The numbers of YaRN, and DeepSeek's factor on scores. ggml multiplies rotated vectors by
/// 1 + 0.1 ln(factor); llama.cpp divides by that and multiplies by the model's own factor, so that
/// the latter is what remains.
struct gguf_yarn {
  yarn_scaling scaling;
  double mscale_all_dim, on_scores;
};

inline gguf_yarn gguf_yarn_of(gguf_config& config, double factor, double attention, double share) {
  auto const& known = config.architecture;
  if (!gguf_has_factor(config)) config.assumed("rope.scaling.factor", 1.0);
  yarn_scaling scaling{.factor = factor, .original_length = gguf_original_length(config)};
  scaling.beta_fast = config.positive("rope.scaling.yarn_beta_fast").value_or(known.beta_fast);
  scaling.beta_slow = config.positive("rope.scaling.yarn_beta_slow").value_or(1);
  scaling.extrapolation = share;
  if (config.number("rope.scaling.yarn_attn_factor").value_or(1) != 1) {
    config.note(config.key("rope.scaling.yarn_attn_factor") +
                " is without effect: llama.cpp computes another in its place.");
  }
  constexpr auto multiplier = "rope.scaling.yarn_log_multiplier";
  auto all_dim = config.number(multiplier).value_or(0);
  config.require(all_dim >= 0, multiplier, "be 0 or above");
  if (known.mscale_on_scores) all_dim *= 10;                  // DeepSeek's files hold a tenth of it
  auto const mscale = known.mscale_is_all_dim ? all_dim : 1;  // files hold mscale_all_dim alone
  auto const of_scores = yarn_magnitude(factor, all_dim);
  auto const own = known.compressed ? 1
                   : all_dim == 0   ? yarn_magnitude(factor)
                                    : yarn_magnitude(factor, mscale) / of_scores;
  scaling.attention_factor = own * attention;
  auto const on_scores = own * attention * of_scores * own * attention * of_scores;
  return {scaling, all_dim, known.mscale_on_scores ? on_scores : 1};
}

}  // namespace posenc::detail
