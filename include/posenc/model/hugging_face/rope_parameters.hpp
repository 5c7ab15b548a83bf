// From the keys of a rope_parameters (or rope_scaling) to the numbers of a rule. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/json_object.hpp"
#include "posenc/model/rope_rule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The value of rope_type, or of its old key type; old values as the current ones.
inline std::string rope_type_in(json_object const& keys) {
  auto const read = [](json_object const& o, std::string const& key) {
    auto text = o.text(key);
    if (text == "su") text = "longrope";
    // mrope's sections are axes, not frequencies; origin is InternLM's.
    if (text == "mrope" || text == "video_rope" || text == "origin") text = "default";
    return text;
  };
  return keys.agreed({"rope_type", "type"}, read).value_or("default");
}

/// The RoPE rule of one kind of layers.
class rope_rule : rope_record {
 public:
  /// `kind` has its name and head_dim already. The keys must outlive this.
  rope_rule(hugging_face_config& config, layer_description const& kind, json_object const& keys)
      : config_(config),
        kind_(kind),
        keys_(keys),
        original_outside_(config.count("original_max_position_embeddings", most_tokens)),
        name_(rope_type_in(keys)) {
    // Phi 3's first files say yarn.
    if (name_ == "yarn" && keys_.has("short_factor") && keys_.has("long_factor")) {
      name_ = "longrope";
    }
  }

  double mscale_factor = 1;  ///< DeepSeek's factor on scores, g(mscale_all_dim)^2

  /// Without layout, block and axes. `partial` is p of the proportional rule. Throws
  /// std::invalid_argument for an unknown rope_type, and for keys that are absent, out of range or
  /// contradict each other.
  rotary_description read(std::size_t rotary_dim, double base, std::optional<double> partial) {
    error_context const context(keys_.where());
    used("rope_type", json(name_).dump());
    used("rope_theta", base);
    rope_numbers n{.head_dim = kind_.head_dim, .rotary_dim = rotary_dim, .base = base};
    auto name = name_;
    if (name != "proportional") geometric(n.rotary_dim, n.base);  // throws for a wrong base
    if (name == "proportional") {
      n.partial = used("partial_rotary_factor", partial.value_or(1));
      n.factor = used("factor", keys_.number("factor").value_or(1));
    } else if (name == "default") {
      bool const is_ignored = keys_.number("factor").value_or(1) != 1;
      keys_.require(!is_ignored, "factor", "not be given without a rope_type that takes it");
    } else if (name == "linear") {
      n.factor = needed("factor");
    } else if (name == "dynamic" && keys_.number("alpha")) {
      if (keys_.has("factor")) config_.ignore(keys_.setting("factor"));
      note("dynamic with alpha, as Hunyuan has it: one NTK factor for every length.");
      name = "ntk";
      n.alpha = needed("alpha");
    } else if (name == "dynamic") {
      n.factor = needed("factor");
      n.trained_length = trained_length();
    } else if (name == "llama3") {
      n.llama3 = {.factor = needed("factor"),
                  .low_freq_factor = needed("low_freq_factor"),
                  .high_freq_factor = needed("high_freq_factor"),
                  .original_length = original_length()};
    } else if (name == "yarn") {
      n.yarn = yarn_numbers(rotary_dim, base);
    } else if (name == "longrope") {
      read_longrope(n);
    } else {
      keys_.refuse(keys_.has("rope_type") ? "rope_type" : "type",
                   "be one of default, linear, dynamic, yarn, longrope (or su), llama3, "
                   "proportional, mrope");
    }
    auto f = rule_of(name, n);
    if (name == "yarn") mscale_factor = softmax_factor(n.yarn);
    if (name == "dynamic") {
      note("dynamic NTK: frequencies change with the length beyond " + shown(n.trained_length) +
           " tokens.");
    } else if (name == "longrope") {
      note("LongRoPE: the short list up to " + shown(n.longrope.original_length) +
           " tokens, the long one beyond.");
    }
    return {.rule = name,
            .frequencies = std::move(f),
            .layout = halves(),
            .parameters = std::move(parameters)};
  }

 private:
  yarn_scaling yarn_numbers(std::size_t rotary_dim, double base) {
    auto const original = original_length();
    yarn_scaling scaling{.factor = factor_by_context(original), .original_length = original};
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
    if (auto const slope = config_.family.yarn_slope; slope != 0 && !scaling.attention_factor) {
      scaling.attention_factor = used("attention_factor", slope * std::log(scaling.factor) + 1);
    }
    if (scaling.beta_fast < scaling.beta_slow) {
      note("beta_fast is below beta_slow: YaRN's ramp falls.");
    }
    auto const ramp = ramp_of_yarn(rotary_dim, base, scaling);
    auto const rounded = [](double index) { return shown(std::round(100 * index) / 100); };
    note("YaRN's ramp runs from pair " + rounded(ramp.first) + " to " + rounded(ramp.last) + ".");
    return scaling;
  }

  void read_longrope(rope_numbers& n) {
    auto const original = original_length();
    n.longrope = {.short_factor = list("short_factor"),
                  .long_factor = list("long_factor"),
                  .original_length = original,
                  .factor = factor_by_context(original),
                  .attention_factor = optional("attention_factor")};
    // Phi MoE has an attention factor for each list.
    auto const of_short = optional("short_mscale");
    n.attention_of_long = optional("long_mscale");
    if (of_short.has_value() != n.attention_of_long.has_value()) {
      keys_.refuse(of_short ? "long_mscale" : "short_mscale", "be given where the other is");
    }
    if (of_short) n.longrope.attention_factor = of_short;
  }

  std::optional<double> optional(char const* key) {
    auto const given = keys_.number(key);
    if (given) used(key, *given);
    return given;
  }
  double needed(char const* key) {
    auto const given = optional(key);
    if (!given) keys_.refuse(key, "be given for rope_type " + name_);
    return *given;
  }
  std::vector<double> list(char const* key) {
    auto given = keys_.numbers(key);
    if (!given) keys_.refuse(key, "be given for rope_type " + name_);
    used(key, json(*given).dump());
    return std::move(*given);
  }
  double trained_length() const {
    require(config_.found.context.has_value(), keys_.where(),
            ": max_position_embeddings must be given for rope_type ", name_);
    return static_cast<double>(*config_.found.context);
  }

  double original_length() {
    constexpr auto key = "original_max_position_embeddings";
    auto const inside = keys_.count(key, most_tokens);
    auto const outside = original_outside_;
    if (inside && outside && *inside != *outside) {
      keys_.refuse(key, "agree with the one outside, which is " + shown(*outside));
    }
    if (inside || outside) return used(key, static_cast<double>(inside ? *inside : *outside));
    auto const length = trained_length();
    assume(key, length, "max_position_embeddings, " + shown(length));
    return used(key, length);
  }

  /// The key factor, or the context divided by the original context.
  double factor_by_context(double original) {
    auto const given = keys_.number("factor");
    if (!config_.found.context) {
      if (!given) keys_.refuse("factor", "be given where max_position_embeddings is not");
      return used("factor", *given);
    }
    auto const ratio = static_cast<double>(*config_.found.context) / original;
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

  hugging_face_config& config_;
  layer_description const& kind_;
  json_object const& keys_;
  std::optional<std::size_t> original_outside_;  // of rope_parameters, where Phi 3 has it
  std::string name_;
};

}  // namespace posenc::detail
