// From the keys of a rope_parameters (or rope_scaling) to a rule of frequencies. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/model/detail/rope_rule.hpp"
#include "posenc/model/hugging_face/detail/rope_keys.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The RoPE rule of one kind of layers, which has its name and head_dim already.
class rope_rule : protected rope_record {
 public:
  rope_rule(hugging_face_config& config, scheduled_layer const& layer, layer_description& kind)
      : config_(config), layer_(layer), kind_(kind) {}

 protected:
  /// Without layout, block and axes. `partial` is p of the proportional rule.
  rotary_description read_rule(std::size_t rotary_dim, double base, std::optional<double> partial) {
    // Phi 3's first files say yarn.
    bool const is_longrope =
        name_ == "yarn" && keys_.has("short_factor") && keys_.has("long_factor");
    if (is_longrope) name_ = "longrope";
    error_context const context(keys_.where());
    used("rope_type", json(name_).dump());
    used("rope_theta", base);
    auto f = frequencies_of(rotary_dim, base, partial);
    if (family_.mscale_on_scores && name_ != "default" && name_ != "yarn") {
      yarn_scaling scaling{.factor = keys_.number("factor").value_or(1), .original_length = 1};
      scaling.mscale_all_dim = optional("mscale_all_dim");
      scale_scores(scaling);
    }
    return {.rule = name_,
            .frequencies = std::move(f),
            .layout = halves(),
            .parameters = std::move(parameters)};
  }

  static constexpr auto original = "original_max_position_embeddings";

  hugging_face_config& config_;
  scheduled_layer const& layer_;
  layer_description& kind_;
  model_family const& family_ = config_.family;
  bool slides_ = layer_.type == sliding_attention;
  bool is_compressed_ = family_.compressed && !slides_;  ///< of compressed keys (DeepSeek-V4)
  bool has_local_base_ =  ///< sliding layers have a base of their own
      config_.is_known ? family_.local_base != 0
                       : config_.has("rope_local_base_freq") || config_.has("swa_rope_theta");
  /// Without any key if the file has none for these layers.
  rope_keys of_layer_ = rope_keys_of(config_, layer_.type, is_compressed_, has_local_base_);
  bool is_nested_ = of_layer_.is_nested;
  json_object keys_ = of_layer_.keys;
  std::string name_;  ///< rope_type
  std::optional<double> ntk_factor_ = config_.positive(std::string(family_.ntk_key));

 private:
  frequencies_by_length frequencies_of(std::size_t rotary_dim, double base,
                                       std::optional<double> partial) {
    if (name_ == "proportional") {
      auto const p = used("partial_rotary_factor", partial.value_or(1));
      auto const factor = used("factor", keys_.number("factor").value_or(1));
      return proportional(kind_.head_dim, base, p, factor);
    }
    auto const plain = geometric(rotary_dim, base);
    if (name_ == "default") {
      keys_.require(keys_.number("factor").value_or(1) == 1, "factor",
                    "not be given without a rope_type that takes it");
      return plain;
    }
    if (name_ == "linear") return linear(plain, needed("factor"));
    if (name_ == "dynamic" && keys_.number("alpha")) {
      if (keys_.has("factor")) config_.ignore(keys_.setting("factor"));
      note("dynamic with alpha, as Hunyuan has it: one NTK factor for every length.");
      name_ = "ntk";
      return ntk(plain, needed("alpha"));
    }
    if (name_ == "dynamic") {
      auto const factor = ntk_factor_ ? used("factor", *ntk_factor_) : needed("factor");
      auto const trained = trained_length();
      auto const at = [=](std::size_t length) {
        return dynamic_ntk(plain, {factor, trained}, std::max(1.0, static_cast<double>(length)));
      };
      at(1);  // throws here rather than when it is used
      note("dynamic NTK: frequencies change with the length beyond " + shown(trained) + " tokens.");
      return frequencies_by_length(at);
    }
    if (name_ == "llama3") {
      return llama3(plain, {.factor = needed("factor"),
                            .low_freq_factor = needed("low_freq_factor"),
                            .high_freq_factor = needed("high_freq_factor"),
                            .original_length = original_length()});
    }
    if (name_ == "yarn") return yarn_of(rotary_dim, base);
    if (name_ == "longrope") return longrope_of(plain);
    keys_.refuse(keys_.has("rope_type") ? "rope_type" : "type",
                 "be one of default, linear, dynamic, yarn, longrope (or su), llama3, "
                 "proportional, mrope");
  }

  frequencies yarn_of(std::size_t rotary_dim, double base) {
    bool const is_scaled = keys_.has("factor") || keys_.has(original) || config_.has(original);
    keys_.require(is_scaled, "factor",
                  "be given for rope_type yarn where original_max_position_embeddings is not");
    auto const length = original_length();
    yarn_scaling scaling{.factor = factor_by_context(length), .original_length = length};
    auto const set = [&](char const* key, double& to) {
      auto const given = keys_.number(key);
      if (given && *given != 0) to = *given;  // 0 counts as absent in transformers
      used(key, to);
    };
    set("beta_fast", scaling.beta_fast);
    set("beta_slow", scaling.beta_slow);
    scaling.truncate = keys_.flag("truncate").value_or(true);
    used("truncate", std::string(scaling.truncate ? "true" : "false"));
    scaling.mscale = optional("mscale");
    scaling.mscale_all_dim = optional("mscale_all_dim");
    scaling.attention_factor = optional("attention_factor");
    if (is_compressed_ && !scaling.attention_factor)
      scaling.attention_factor = one_of_deepseek(scaling);
    if (auto const slope = family_.yarn_slope; slope != 0 && !scaling.attention_factor) {
      scaling.attention_factor = used("attention_factor", slope * std::log(scaling.factor) + 1);
    }
    if (scaling.beta_fast < scaling.beta_slow)
      note("beta_fast is below beta_slow: YaRN's ramp falls.");
    auto const ramp = ramp_of_yarn(rotary_dim, base, scaling);
    auto const rounded = [](double index) { return shown(std::round(100 * index) / 100); };
    note("YaRN's ramp runs from pair " + rounded(ramp.first) + " to " + rounded(ramp.last) + ".");
    auto f = yarn(rotary_dim, base, scaling);
    scale_scores(scaling);
    return f;
  }

  void scale_scores(yarn_scaling const& scaling) {
    auto const on_scores = softmax_factor(scaling);
    if (family_.mscale_on_scores) kind_.softmax_factor *= on_scores;
    if (on_scores != 1 && !family_.mscale_note.empty()) {
      config_.note("g(mscale_all_dim)^2 = " + shown(on_scores) +
                   " on scores: " + std::string(family_.mscale_note));
    }
  }

  frequencies_by_length longrope_of(frequencies const& plain) {
    auto const length = original_length();
    longrope_scaling scaling{.short_factor = list("short_factor"),
                             .long_factor = list("long_factor"),
                             .original_length = length,
                             .factor = factor_by_context(length),
                             .attention_factor = optional("attention_factor")};
    // Phi MoE has an attention factor for each list.
    auto const of_short = optional("short_mscale"), of_long = optional("long_mscale");
    keys_.require(of_short.has_value() == of_long.has_value(),
                  of_short ? "long_mscale" : "short_mscale", "be given where the other is");
    if (of_short) scaling.attention_factor = of_short;
    auto f = longrope_by_length(plain, scaling, of_long);
    note("LongRoPE: the short list up to " + shown(length) + " tokens, the long one beyond.");
    return f;
  }

  std::optional<double> optional(char const* key) {
    auto const given = keys_.number(key);
    if (given) used(key, *given);
    return given;
  }
  /// The attention factor of keys that are compressed, where none is given. `scaling` has none.
  double one_of_deepseek(yarn_scaling const& scaling) {
    auto const theirs = attention_factor(scaling);
    // Flat, they add the 1 unless the key is there.
    bool const is_there = !keys_.peek("attention_factor").is_discarded();
    if ((is_nested_ || is_there) && theirs != 1)
      note("attention_factor is 1, as DeepSeek's own code has it. transformers up to 5.17 takes " +
           shown(theirs) +
           (is_nested_ ? " where nested rope_parameters do not give it." : " where it is null."));
    return used("attention_factor", 1);
  }
  double needed(char const* key) {
    return keys_.needed(optional(key), key, "be given for rope_type " + name_);
  }
  std::vector<double> list(char const* key) {
    auto given = keys_.needed(keys_.numbers(key), key, "be given for rope_type " + name_);
    used(key, json(given).dump());
    return given;
  }
  double trained_length() {
    constexpr auto key = "max_trained_positions";
    if (ntk_factor_) return used(original, config_.needed(config_.positive(key), key));
    require(config_.found.context.has_value(), keys_.where(),
            ": max_position_embeddings must be given for rope_type ", name_);
    return static_cast<double>(*config_.found.context);
  }

  double original_length() {
    auto const inside = keys_.count(original, most_tokens);
    auto const outside = config_.count(original, most_tokens);  // Phi 3 has it there
    if (inside && outside && *inside != *outside) {
      keys_.refuse(original, "agree with the one outside, which is " + shown(*outside));
    }
    if (inside || outside) return used(original, static_cast<double>(inside ? *inside : *outside));
    auto const length = trained_length();
    assume(original, length, "max_position_embeddings, " + shown(length));
    return used(original, length);
  }

  /// The key factor, or the context divided by the original context.
  double factor_by_context(double length) {
    auto const given = keys_.number("factor");
    if (!config_.found.context) {
      if (!given) keys_.refuse("factor", "be given where max_position_embeddings is not");
      return used("factor", *given);
    }
    auto const ratio = static_cast<double>(*config_.found.context) / length;
    if (!given) {
      assume("factor", ratio,
             "max_position_embeddings / original_max_position_embeddings, " + shown(ratio));
    } else if (*given != ratio) {
      note("factor is " + shown(*given) + " although max_position_embeddings is " + shown(ratio) +
           " times the original.");
    }
    return used("factor", given.value_or(ratio));
  }

  void assume(std::string const& key, double value, std::string const& source) {
    config_.assume(keys_.path() + key, value,
                   kind_.name + ": " + key + " is not given: " + source + ".");
  }
  void note(std::string const& sentence) { config_.note(kind_.name + ": " + sentence); }
};

}}}  // namespace posenc::detail
