// From the keys of a rope_parameters (or rope_scaling) to frequencies. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/json_object.hpp"
#include "posenc/model/rope_result.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// What a rule needs beside its own keys.
struct rope_inputs {
  std::string kind;  ///< the name of the kind of layers, for findings
  std::size_t head_dim, rotary_dim;
  double base;
  std::optional<double> partial_rotary_factor;  ///< p of the proportional rule
  std::optional<std::size_t> context;           ///< max_position_embeddings
  std::optional<std::size_t> original_context;  ///< original_max_position_embeddings outside
                                                ///< rope_parameters, where Phi 3 has it
  double yarn_slope = 0;  ///< attention factor of YaRN: this * ln(factor) + 1; 0: as published
};

/// The RoPE rule of one kind of layers.
class rope_rule {
 public:
  rope_rule(json_object const& keys, rope_inputs inputs, findings& found)
      : keys_(keys), inputs_(std::move(inputs)), findings_(found) {}

  /// Throws std::invalid_argument for an unknown rope_type, and for keys that are absent, out of
  /// range or contradict each other.
  rope_result read() {
    error_context const context(keys_.where());
    auto const name = this->name();
    parameters_ = {{"rope_type", json(name).dump()}};
    used("rope_theta", inputs_.base);
    auto result = read(name);
    result.parameters = std::move(parameters_);
    return result;
  }

  /// The value of rope_type, or of its old key type; old values as the current ones.
  static std::string name_in(json_object const& keys) {
    auto const name =
        keys.agreed({"rope_type", "type"}, [](json_object const& o, std::string const& key) {
          auto text = o.text(key);
          if (text == "su") text = "longrope";
          if (text == "mrope") text = "default";  // its sections are axes, not frequencies
          if (text == "video_rope") text = "default";
          if (text == "origin") text = "default";  // InternLM
          return text;
        });
    return name.value_or("default");
  }

 private:
  std::string name() const {
    auto name = name_in(keys_);
    // Phi 3's first files say yarn.
    if (name == "yarn" && keys_.has("short_factor") && keys_.has("long_factor")) name = "longrope";
    return name;
  }

  rope_result read(std::string const& name) {
    if (name == "proportional") {
      auto const p = inputs_.partial_rotary_factor.value_or(1);
      used("partial_rotary_factor", p);
      auto const factor = used("factor", keys_.number("factor").value_or(1));
      return {name, proportional(inputs_.head_dim, inputs_.base, p, factor)};
    }
    auto const series = geometric(inputs_.rotary_dim, inputs_.base);
    if (name == "default") {
      auto const factor = keys_.number("factor");
      bool const is_ignored = factor && *factor != 1;
      keys_.require(!is_ignored, "factor", "not be given without a rope_type that takes it");
      return {name, series};
    }
    if (name == "linear") return {name, linear(series, needed("factor"))};
    if (name == "dynamic") return read_dynamic(series);
    if (name == "llama3") {
      return {name, llama3(series, {.factor = needed("factor"),
                                    .low_freq_factor = needed("low_freq_factor"),
                                    .high_freq_factor = needed("high_freq_factor"),
                                    .original_length = original_length()})};
    }
    if (name == "yarn") return read_yarn();
    if (name == "longrope") return read_longrope(series);
    keys_.refuse(
        keys_.has("rope_type") ? "rope_type" : "type",
        "be one of default, linear, dynamic, yarn, longrope (or su), llama3, proportional, mrope");
  }

  rope_result read_dynamic(frequencies const& series) {
    if (auto const alpha = keys_.number("alpha")) {
      if (keys_.has("factor")) findings_.ignore(keys_.setting("factor"));
      note("dynamic with alpha, as Hunyuan has it: one NTK factor for every length.");
      return {"ntk", ntk(series, used("alpha", *alpha))};
    }
    dynamic_ntk_scaling const scaling{needed("factor"), trained_length()};
    auto const at = [=](std::size_t length) {
      return dynamic_ntk(series, scaling, static_cast<double>(std::max<std::size_t>(length, 1)));
    };
    at(1);  // throws here rather than when it is used
    note("dynamic NTK: frequencies change with the length beyond " + shown(scaling.trained_length) +
         " tokens.");
    return {"dynamic", frequencies_by_length(at)};
  }

  rope_result read_yarn() {
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
    parameters_.push_back({"truncate", scaling.truncate ? "true" : "false"});
    scaling.mscale = optional("mscale");
    scaling.mscale_all_dim = optional("mscale_all_dim");
    scaling.attention_factor = optional("attention_factor");
    if (inputs_.yarn_slope != 0 && !scaling.attention_factor) {
      scaling.attention_factor =
          used("attention_factor", inputs_.yarn_slope * std::log(scaling.factor) + 1);
    }
    if (scaling.beta_fast < scaling.beta_slow) {
      note("beta_fast is below beta_slow: YaRN's ramp falls.");
    }
    auto const ramp = ramp_of_yarn(inputs_.rotary_dim, inputs_.base, scaling);
    note("YaRN's ramp runs from pair " + rounded(ramp.first) + " to " + rounded(ramp.last) + ".");
    return {"yarn", yarn(inputs_.rotary_dim, inputs_.base, scaling), softmax_factor(scaling)};
  }

  rope_result read_longrope(frequencies const& series) {
    auto const original = original_length();
    longrope_scaling scaling{.short_factor = list("short_factor"),
                             .long_factor = list("long_factor"),
                             .original_length = original,
                             .factor = factor_by_context(original),
                             .attention_factor = optional("attention_factor")};
    // Phi MoE has an attention factor for each list.
    auto const of_short = optional("short_mscale");
    auto const of_long = optional("long_mscale");
    if (of_short.has_value() != of_long.has_value()) {
      keys_.refuse(of_short ? "long_mscale" : "short_mscale", "be given where the other is");
    }
    auto const at = [=](std::size_t length) {
      auto scaling_at = scaling;
      auto const tokens = static_cast<double>(std::max<std::size_t>(length, 1));
      if (of_short) scaling_at.attention_factor = tokens > original ? of_long : of_short;
      return longrope(series, scaling_at, tokens);
    };
    for (std::size_t const length : {std::size_t{1}, static_cast<std::size_t>(original) + 1}) {
      at(length);  // throws here rather than when it is used
    }
    note("LongRoPE: the short list up to " + shown(original) + " tokens, the long one beyond.");
    return {"longrope", frequencies_by_length(at)};
  }

  static std::string rounded(double index) { return shown(std::round(100 * index) / 100); }

  /// Records a value that the rule is made of.
  double used(char const* key, double value) {
    parameters_.push_back({key, shown(value)});
    return value;
  }
  std::optional<double> optional(char const* key) {
    auto const given = keys_.number(key);
    if (given) used(key, *given);
    return given;
  }
  double needed(char const* key) {
    auto const given = keys_.number(key);
    if (!given) keys_.refuse(key, "be given for rope_type " + name());
    return used(key, *given);
  }
  std::vector<double> list(char const* key) {
    auto given = keys_.numbers(key);
    if (!given) keys_.refuse(key, "be given for rope_type " + name());
    parameters_.push_back({key, json(*given).dump()});
    return std::move(*given);
  }
  double trained_length() const {
    require(inputs_.context.has_value(), keys_.where(),
            ": max_position_embeddings must be given for rope_type ", name());
    return static_cast<double>(*inputs_.context);
  }

  double original_length() {
    constexpr auto key = "original_max_position_embeddings";
    auto const inside = keys_.count(key, most_tokens);
    auto const outside = inputs_.original_context;
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
    if (!inputs_.context) {
      if (!given) keys_.refuse("factor", "be given where max_position_embeddings is not");
      return used("factor", *given);
    }
    auto const ratio = static_cast<double>(*inputs_.context) / original;
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
    findings_.assume(keys_.path() + key, value,
                     inputs_.kind + ": " + key + " is not given: " + source + ".");
  }
  void note(std::string const& sentence) { findings_.note(inputs_.kind + ": " + sentence); }

  json_object keys_;
  rope_inputs inputs_;
  std::vector<model_setting> parameters_ = {};
  findings& findings_;
};

}  // namespace detail
}  // namespace posenc
