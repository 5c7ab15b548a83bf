// How one kind of layers rotates, as a GGUF file says.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/detail/config.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

class gguf_rotation {
 public:
  /// `kind` has its head_dim already.
  gguf_rotation(gguf_config& config, bool slides, layer_description& kind)
      : config_(config), known_(config.family), slides_(slides), kind_(kind) {}

  void read() {
    auto rotary = read_rule();
    rotary.axes = config_.axes(dim_ / 2);
    if (known_.interleaved && !rotary.axes) rotary.layout = interleaved();
    if (known_.last_dims) rotary.block = rotary_block::last();
    kind_.rotary.push_back(std::move(rotary));
  }

 private:
  static constexpr std::string_view attention_key = "rope.scaling.attn_factor",
                                    share_key = "rope.scaling.yarn_ext_factor",
                                    factor_key = "rope.scaling.factor";

  std::size_t rotary_dim() const {
    if (known_.whole_head) return kind_.head_dim;
    auto const all = config_.keys.count("rope.dimension_count", most_dims);
    auto const local = config_.keys.count("rope.dimension_count_swa", most_dims);
    bool const is_local = slides_ && local;
    auto const given = is_local ? *local : all.value_or(kind_.head_dim);
    auto const dim = known_.half_on_full && !slides_ ? given / 2 : given;
    config_.keys.require(
        dim % 2 == 0 && dim <= kind_.head_dim,
        is_local ? "rope.dimension_count_swa"
        : all    ? "rope.dimension_count"
                 : "attention.key_length",
        "give an even number of rotary dims within the " + shown(kind_.head_dim) + " of a head");
    return dim;
  }

  double base() {
    constexpr auto name = "rope.freq_base", compressed = "attention.compress_rope_freq_base";
    auto const all = config_.keys.above_one(name),
               local = config_.keys.above_one("rope.freq_base_swa");
    if (slides_ && (local || known_.local_base != 0))
      return config_.or_assumed(local, "rope.freq_base_swa", known_.local_base);
    if (known_.compressed && !slides_)
      return config_.keys.needed(config_.keys.above_one(compressed), compressed);
    config_.keys.require(!all || known_.only_base == 0 || *all == known_.only_base, name,
                         "be " + shown(known_.only_base) + ": llama.cpp has no other for this");
    return config_.or_assumed(all, name, 1e4);
  }

  /// The rotation, but for layout, block and axes.
  rotary_description read_rule() {
    dim_ = rotary_dim();
    auto const given = base();
    auto const alpha = config_.keys.positive_or_none("rope.scaling.alpha").value_or(0);
    auto const d = static_cast<double>(dim_);
    auto const base = alpha == 0 ? given : given * std::pow(alpha, d / (d - 2));  // XD-RoPE
    config_.keys.require(is_finite(base) && base > 1, "rope.scaling.alpha",
                         "leave freq_base * alpha^(d / (d - 2)) finite and above 1");
    auto const type = scaling_type();
    auto const factor = type == "none" ? 1 : this->factor();
    auto const attention = attention_factor();
    record_.used("rope_theta", given);
    auto const plain = geometric(dim_, base);
    if (known_.unscaled || (slides_ && known_.scaled_if_full)) return made("default", plain);
    if (slides_ && known_.local_base != 0)
      return made("default", times(plain, attention * (type == "yarn" ? gain_left(factor) : 1)));
    // ggml's ext_factor: the share of YaRN in the frequencies, the rest is linear.
    auto const ext_factor = config_.keys.number(share_key).value_or(-1);
    config_.keys.require(ext_factor <= 1, share_key,
                         "be at most 1, or below 0, which leaves it to rope.scaling.type");
    auto const share = ext_factor >= 0 ? ext_factor : type == "yarn" ? 1 : 0;
    bool const is_ntk = alpha != 0 && factor == 1 && share == 0;
    if (alpha != 0) record_.used(is_ntk ? "alpha" : "rope.scaling.alpha", alpha);
    if (share != 0)
      return divided("yarn", yarn(dim_, base, yarn_numbers(factor, attention, share)));
    if (!config_.file.values("rope_freqs.weight")) {
      auto const longs = config_.factors(dim_ / 2, "rope_factors_long.weight");
      auto const shorts = config_.factors(dim_ / 2, "rope_factors_short.weight");
      if (longs && shorts) {
        if (factor != 1) record_.used(factor_key, factor);
        return read_longrope(linear(plain, factor), *longs, *shorts);
      }
      require(!longs && !shorts, config_.file.file(),
              ": rope_factors_long.weight and rope_factors_short.weight must be given together, "
              "got one");
      config_.keys.require(
          type != "longrope", "rope.scaling.type",
          "come with the tensors rope_factors_long.weight and rope_factors_short.weight");
    }
    auto const gain =
        attention * config_.keys.positive("rope.scaling.yarn_attn_factor").value_or(1);
    if (factor != 1) record_.used("factor", factor);
    return divided(factor != 1 ? "linear"
                   : is_ntk    ? "ntk"
                               : "default",
                   times(linear(plain, factor), gain));
  }

  double factor() const {
    constexpr std::string_view older = "rope.scale_linear";
    return config_.keys.positive_or_none(config_.keys.has(factor_key) ? factor_key : older)
        .value_or(1);
  }

  std::string scaling_type() {
    constexpr auto name = "rope.scaling.type";
    auto const given = config_.keys.text(name);
    auto type = given.value_or("linear");
    config_.keys.require(type == "none" || type == "linear" || type == "yarn" || type == "longrope",
                         name, "be one of none, linear, yarn, longrope");
    if (!given && factor() != 1)
      config_.assume(config_.keys.key(name) + " is not given: linear, as llama.cpp has it.");
    return type;
  }

  /// The model's own factor of rotated vectors.
  double attention_factor() {
    auto const given = config_.keys.positive(attention_key).value_or(1);
    if (given == 1 || !known_.compressed) return given;
    config_.note(config_.keys.key(attention_key) +
                 " is without effect: llama.cpp has 1 in its place.");
    return 1;
  }

  double original_length() {
    constexpr auto name = "rope.scaling.original_context_length";
    auto const given = config_.keys.count(name, most_tokens);
    auto const length = config_.keys.needed(given ? given : config_.found.context, name,
                                            "be given where context_length is not");
    if (!given) {
      config_.assume(config_.keys.key(name) + " is not given: context_length, " + shown(length) +
                     ", as llama.cpp has it.");
    }
    return record_.used("original_max_position_embeddings", static_cast<double>(length));
  }

  /// ggml multiplies rotated vectors by 1 + 0.1 ln(factor); llama.cpp divides by that and
  /// multiplies by the model's own factor, so that the latter is what remains.
  yarn_scaling yarn_numbers(double factor, double attention, double share) {
    if (!config_.keys.has(factor_key) && !config_.keys.has("rope.scale_linear"))
      config_.assumed(factor_key, 1.0);
    record_.used("factor", factor);
    yarn_scaling scaling{.factor = factor, .original_length = original_length()};
    scaling.beta_fast = record_.used(
        "beta_fast",
        config_.keys.positive("rope.scaling.yarn_beta_fast").value_or(known_.beta_fast));
    scaling.beta_slow =
        record_.used("beta_slow", config_.keys.positive("rope.scaling.yarn_beta_slow").value_or(1));
    scaling.extrapolation = share;
    constexpr auto of_attention = "rope.scaling.yarn_attn_factor";
    if (config_.keys.number(of_attention).value_or(1) != 1) {
      config_.note(config_.keys.key(of_attention) +
                   " is without effect: llama.cpp computes another in its place.");
    }
    constexpr auto multiplier = "rope.scaling.yarn_log_multiplier";
    auto all_dim = config_.keys.number(multiplier).value_or(0);
    config_.keys.require(all_dim >= 0, multiplier, "be 0 or above");
    if (known_.mscale_on_scores) all_dim *= 10;  // DeepSeek's files hold a tenth of it
    auto const mscale = known_.mscale_is_all_dim ? all_dim : 1;  // files hold mscale_all_dim alone
    auto const of_scores = yarn_magnitude(factor, all_dim);
    auto const own = known_.compressed ? 1
                     : all_dim == 0    ? yarn_magnitude(factor)
                                       : yarn_magnitude(factor, mscale) / of_scores;
    scaling.attention_factor = own * attention;
    auto const on_scores = own * attention * of_scores * own * attention * of_scores;
    if (known_.mscale_on_scores) kind_.softmax_factor *= on_scores;
    record_.used("truncate", std::string("true"));
    record_.used("attention_factor", *scaling.attention_factor);
    if (all_dim != 0) record_.used("mscale_all_dim", all_dim);
    if (share != 1) record_.used(share_key, share);
    return scaling;
  }

  rotary_description read_longrope(frequencies const& series, std::vector<double> const& longs,
                                   std::vector<double> const& shorts) {
    auto const attention =
        config_.or_assumed(config_.keys.positive(attention_key), attention_key, 1.0);
    auto const original = original_length();
    auto const context = config_.found.context;
    record_.used("factor", context ? static_cast<double>(*context) / original : 1);
    record_.used("attention_factor", attention);
    record_.used("short_factor", shown_list(shorts));
    record_.used("long_factor", shown_list(longs));
    config_.note("LongRoPE: the short list up to " + shown(original) +
                 " tokens, the long one beyond. llama.cpp chooses by its context instead.");
    return made("longrope", longrope_by_length(series, {.short_factor = shorts,
                                                        .long_factor = longs,
                                                        .original_length = original,
                                                        .attention_factor = attention}));
  }

  /// With YaRN, llama.cpp divides by 1 + 0.1 ln(factor) for all layers, and ggml multiplies by it
  /// only where layers are scaled. This remains in the others: 1 for factors of 1 and above.
  double gain_left(double factor) const {
    auto const divisor = 1 + 0.1 * std::log(factor);
    config_.keys.require(divisor > 0, factor_key, "be above exp(-10) with YaRN");
    return yarn_magnitude(factor) / divisor;
  }
  static frequencies times(frequencies const& f, double gain) {
    return changed(
        f, [](std::size_t, auto const& inv_freq) { return inv_freq; }, gain);
  }

  /// Divided by the tensor rope_freqs, if the file has it.
  rotary_description divided(std::string rule, frequencies const& f) {
    auto const divisors = config_.factors(dim_ / 2, "rope_freqs.weight");
    return divisors ? made(std::move(rule), divided_by_factors(f, *divisors), true)
                    : made(std::move(rule), f);
  }
  rotary_description made(std::string rule, frequencies_by_length f,
                          bool has_pair_factors = false) {
    auto const gain = f.at(1).attention_factor();
    if (rule != "yarn" && rule != "longrope" && gain != 1) record_.used(attention_key, gain);
    if (has_pair_factors) record_.used("rope_freqs.weight", std::string("true"));
    auto const type = rule == "ntk" ? "dynamic" : rule;  // alpha makes it NTK
    auto& parameters = record_.parameters;
    parameters.insert(parameters.begin(), {"rope_type", "\"" + type + "\""});
    return {.rule = std::move(rule),
            .frequencies = std::move(f),
            .layout = halves(),
            .has_pair_factors = has_pair_factors,
            .parameters = std::move(parameters)};
  }

  gguf_config& config_;
  model_family const& known_;
  bool slides_;
  layer_description& kind_;
  std::size_t dim_ = 0;  // that rotate
  rope_record record_;
};

}}}  // namespace posenc::detail
