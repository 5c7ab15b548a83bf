// The keys of a GGUF file about rotation, and its tensors of factors.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/gguf/config.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// The values of these keys for one kind of layers.
class gguf_rope_keys {
 protected:
  gguf_rope_keys(gguf_config& config, bool slides, std::size_t rotary_dim)
      : config_(config), known_(config.architecture), slides_(slides), dim_(rotary_dim) {}

  /// The base that the file gives, the base that acts, and the alpha that changed it, or 0.
  struct base_of_layer {
    double given, changed = given, alpha = 0;
  };
  base_of_layer base() {
    auto const above_one = [&](char const* name) {
      auto const given = config_.number(name);
      if (given) config_.file.require(*given > 1, config_.key(name), "be above 1");
      return given;
    };
    auto const all = above_one("rope.freq_base");
    auto const local = above_one("rope.freq_base_swa");
    if (slides_ && local) return {*local};
    if (slides_ && known_.local_base != 0) {
      return {config_.assumed("rope.freq_base_swa", known_.local_base)};
    }
    if (known_.compressed && !slides_) {
      constexpr auto name = "attention.compress_rope_freq_base";
      auto const compressed = above_one(name);
      if (!compressed) config_.file.refuse(config_.key(name), "be given");
      return {*compressed};
    }
    if (all && known_.only_base != 0) {
      config_.file.require(*all == known_.only_base, config_.key("rope.freq_base"),
                           "be " + shown(known_.only_base) + ": llama.cpp has no other for this");
    }
    auto const base = all ? *all : config_.assumed("rope.freq_base", 1e4);
    auto const alpha = config_.positive_or_none("rope.scaling.alpha");
    if (!alpha) return {base};
    auto const d = static_cast<double>(dim_);  // XD-RoPE's is NTK-aware, by its base
    auto const changed = base * std::pow(*alpha, d / (d - 2));
    config_.file.require(is_finite(changed) && changed > 1, config_.key("rope.scaling.alpha"),
                         "leave freq_base * alpha^(d / (d - 2)) finite and above 1");
    return {base, changed, *alpha};
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

  /// 0 where it is not given. DeepSeek's files hold a tenth of it.
  double mscale_all_dim() {
    constexpr auto key = "rope.scaling.yarn_log_multiplier";
    auto const given = config_.number(key).value_or(0);
    config_.file.require(given >= 0, config_.key(key), "be 0 or above");
    return known_.mscale_on_scores ? 10 * given : given;
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

  gguf_config& config_;
  gguf_architecture const& known_;
  bool slides_;
  std::size_t dim_;
};

}  // namespace detail
}  // namespace posenc
