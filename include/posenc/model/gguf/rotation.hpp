// How one kind of layers rotates, by the keys of a GGUF file and its tensors of factors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/per_pair.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/axis_sections.hpp"
#include "posenc/model/gguf/config.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

class gguf_rotation {
 public:
  /// Of a kind whose head_dim is known.
  gguf_rotation(gguf_config& config, bool slides, layer_encoding& kind)
      : config_(config), slides_(slides), kind_(kind) {}

  void read() {
    auto const dim = rotary_dim();
    auto found = read_rule(dim);
    auto const axes = this->axes(dim / 2);
    rotary_encoding rotary{.rule = std::move(found.name),
                           .frequencies = std::move(found.frequencies),
                           .layout = halves()};
    if (config_.architecture.rope == gguf_rope_type::norm && !axes) rotary.layout = interleaved();
    rotary.has_pair_factors = found.has_pair_factors;
    if (config_.architecture.last_dims) rotary.block = rotary_block::last();
    rotary.axes = axes;
    kind_.rotary.push_back(std::move(rotary));
  }

 private:
  struct rule {
    std::string name;
    frequencies_by_length frequencies;
    bool has_pair_factors = false;
  };

  std::size_t rotary_dim() {
    auto const all = config_.count("rope.dimension_count", 1, gguf_most_dims);
    auto const local = config_.count("rope.dimension_count_swa", 1, gguf_most_dims);
    auto const name = slides_ && local ? "rope.dimension_count_swa"
                      : all            ? "rope.dimension_count"
                                       : "attention.key_length";
    auto const dim = slides_ && local ? *local : all.value_or(kind_.head_dim);
    config_.file.require(
        dim % 2 == 0 && dim <= kind_.head_dim, config_.key(name),
        "give an even number of rotated dims within the " + shown(kind_.head_dim) + " of a head");
    return dim;
  }

  double base() {
    auto const above_one = [&](char const* name) {
      auto const given = config_.number(name);
      if (given) config_.file.require(*given > 1, config_.key(name), "be above 1");
      return given;
    };
    auto const all = above_one("rope.freq_base"), local = above_one("rope.freq_base_swa");
    if (slides_ && local) return *local;
    auto const known = config_.architecture.local_base;
    if (slides_ && known != 0) return config_.assumed("rope.freq_base_swa", known);
    return all ? *all : config_.assumed("rope.freq_base", 1e4);
  }

  rule read_rule(std::size_t dim) {
    auto const base = this->base();
    auto const type = this->type();
    auto const factor = this->factor();
    auto const attention = config_.positive("rope.scaling.attn_factor").value_or(1);
    for (auto const* key :
         {"beta_fast", "beta_slow", "ext_factor", "attn_factor", "log_multiplier"}) {
      config_.key(std::string("rope.scaling.yarn_") + key);  // of no concern to other rules
    }
    bool const is_unscaled =
        slides_ && (config_.architecture.local_base != 0 || config_.architecture.unscaled_local);
    if (is_unscaled) return {"default", geometric(dim, base)};
    if (type == "yarn" && !config_.has("rope.scaling.factor") && !config_.has("rope.scale_linear"))
      config_.assumed("rope.scaling.factor", 1.0);
    if (type == "yarn") return read_yarn(dim, base, factor, attention);

    auto const scale = type == "none" ? 1.0 : factor;
    auto const name = std::string(scale == 1 ? "default" : "linear");
    auto const scaled = linear(geometric(dim, base), scale);
    if (auto const freqs = factors("rope_freqs.weight", dim))
      return {name, per_pair(times(scaled, attention), *freqs), true};
    auto const longs = factors("rope_factors_long.weight", dim),
               shorts = factors("rope_factors_short.weight", dim);
    if (longs && shorts) return read_longrope(scaled, *longs, *shorts);
    auto const type_key = config_.key("rope.scaling.type");
    if (longs || shorts)
      refuse(config_.file.file(),
             ": rope_factors_long.weight and rope_factors_short.weight must be given together, got "
             "one");
    config_.file.require(
        type != "longrope", type_key,
        "come with the tensors rope_factors_long.weight and rope_factors_short.weight");
    return {name, times(scaled, attention)};
  }

  std::string type() {
    auto const given = config_.text("rope.scaling.type");
    auto name = given.value_or("linear");
    bool const is_known =
        name == "none" || name == "linear" || name == "yarn" || name == "longrope";
    config_.file.require(is_known, config_.key("rope.scaling.type"),
                         "be one of none, linear, yarn, longrope");
    bool const scales = config_.has("rope.scaling.factor") || config_.has("rope.scale_linear");
    if (!given && scales && factor() != 1)
      config_.assume(config_.key("rope.scaling.type") +
                     " is not given: linear, as llama.cpp has it.");
    return name;
  }

  double factor() {
    auto const old = config_.number("rope.scale_linear");
    auto const fresh = config_.number("rope.scaling.factor");
    auto const given = fresh ? fresh : old;
    if (!given || *given == 0) return 1;  // 0 is llama.cpp's way to say that there is none
    config_.file.require(*given >= 1,
                         config_.key(fresh ? "rope.scaling.factor" : "rope.scale_linear"),
                         "be 0 or at least 1");
    return *given;
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

  /// ggml blends with its own factor 1 + 0.1 ln(factor), which llama.cpp divides out again to put
  /// the model's own in.
  rule read_yarn(std::size_t dim, double base, double factor, double attention) {
    auto const original = static_cast<double>(original_length());
    yarn_scaling scaling{.factor = factor, .original_length = original};
    scaling.beta_fast =
        config_.positive("rope.scaling.yarn_beta_fast").value_or(config_.architecture.beta_fast);
    scaling.beta_slow = config_.positive("rope.scaling.yarn_beta_slow").value_or(1);
    auto const ext = config_.number("rope.scaling.yarn_ext_factor").value_or(1);
    config_.file.require(ext <= 1, config_.key("rope.scaling.yarn_ext_factor"),
                         "be at most 1, or below 0, which stands for 1");
    auto const share = ext < 0 ? 1 : ext;
    if (config_.number("rope.scaling.yarn_attn_factor").value_or(1) != 1) {
      config_.note(config_.key("rope.scaling.yarn_attn_factor") +
                   " is not read: llama.cpp computes another in its place.");
    }
    auto const multiplier = this->multiplier();
    auto const of_scores = yarn_magnitude(factor, multiplier);
    auto const own = multiplier == 0 ? yarn_magnitude(factor)
                                     : yarn_magnitude(factor, mscale(multiplier)) / of_scores;
    scaling.attention_factor = share == 0 ? attention : own * attention;
    if (config_.architecture.mscale_on_scores)
      kind_.softmax_factor *= own * attention * of_scores * own * attention * of_scores;

    auto const whole = yarn(dim, base, scaling);
    auto const interpolated = linear(geometric(dim, base), factor);
    auto const blended = changed(whole, [&](std::size_t i, auto const& inv_freq) {
      return inv_freq * share + with_rest(interpolated, i) * (1 - two_doubles(share));
    });
    if (auto const freqs = factors("rope_freqs.weight", dim))
      return {"yarn", per_pair(blended, *freqs), true};
    return {"yarn", share == 1 ? whole : blended};
  }

  /// mscale_all_dim, of which DeepSeek's files hold a tenth; 0 where it is not given.
  double multiplier() {
    auto const given = config_.number("rope.scaling.yarn_log_multiplier").value_or(0);
    config_.file.require(given >= 0, config_.key("rope.scaling.yarn_log_multiplier"),
                         "be 0 or above");
    return config_.architecture.mscale_on_scores ? 10 * given : given;
  }
  /// Files hold mscale_all_dim alone; llama.cpp derives mscale from it.
  double mscale(double all_dim) const {
    return config_.architecture.mscale_is_all_dim ? all_dim : 1;
  }

  rule read_longrope(frequencies const& series, std::vector<double> longs,
                     std::vector<double> shorts) {
    auto const given = config_.positive("rope.scaling.attn_factor");
    auto const attention = given ? *given : config_.assumed("rope.scaling.attn_factor", 1.0);
    auto const original = original_length();
    longrope_scaling scaling{.short_factor = std::move(shorts),
                             .long_factor = std::move(longs),
                             .original_length = static_cast<double>(original),
                             .attention_factor = attention};
    longrope(series, scaling, 1);  // throws now if ever
    config_.note("LongRoPE: the short list up to " + shown(original) +
                 " tokens, the long one beyond. llama.cpp takes one by its context.");
    return {"longrope",
            frequencies_by_length([series, scaling = std::move(scaling)](std::size_t length) {
              return longrope(series, scaling,
                              static_cast<double>(std::max<std::size_t>(length, 1)));
            })};
  }

  /// One a pair, of a tensor that divides the frequencies.
  std::optional<std::vector<double>> factors(std::string const& tensor, std::size_t dim) {
    auto given = config_.file.values(tensor);
    if (!given || (slides_ && config_.architecture.factors_on_full_only)) return {};
    auto const where = config_.file.file() + ": " + tensor;
    require(given->size() == dim / 2, where, " must have one factor for each of the ", dim / 2,
            " pairs, got ", given->size());
    for (auto const f : *given)
      require(is_finite(f) && f > 0, where, " must have finite factors above 0, got ", f);
    return given;
  }

  std::optional<pair_axes> axes(std::size_t pairs) {
    bool const interleave = config_.architecture.rope == gguf_rope_type::imrope;
    bool const needs = interleave || config_.architecture.rope == gguf_rope_type::mrope;
    auto const key = config_.key("rope.dimension_sections");
    auto const given = config_.file.numbers(key);
    if (needs && !given) config_.file.refuse(key, "be given");
    if (!given) return {};
    auto const where = config_.file.file() + ": " + key;
    auto sections = axis_sections(where, *given);
    bool const has_all = sections.size() == 3 || sections.size() == 4;
    config_.file.require(has_all, key, "have 3 or 4 sections");
    bool const are_zero = std::ranges::all_of(sections, [](auto section) { return section == 0; });
    if (are_zero && !needs) return {};
    if (sections.size() == 4 && sections.back() == 0) sections.pop_back();
    auto const result = axes_of(where, sections, pairs, interleave);
    bool differs = false;
    for (std::size_t i = 0; interleave && i < pairs; ++i) differs |= i >= 3 * sections[i % 3];
    if (differs) {
      config_.note(
          "Pairs beyond their axis's section turn by the first axis, as in the model's own code. "
          "ggml has a fourth for them.");
    }
    return result;
  }

  static frequencies times(frequencies const& f, double gain) {
    return changed(
        f, [](std::size_t, auto const& inv_freq) { return inv_freq; }, gain);
  }
  gguf_config& config_;
  bool slides_;
  layer_encoding& kind_;
};

}  // namespace detail
}  // namespace posenc
