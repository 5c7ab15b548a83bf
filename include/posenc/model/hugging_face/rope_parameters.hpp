// One rope_parameters (or rope_scaling) of Hugging Face's configurations: from its keys to
// frequencies. (nlohmann-json)
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
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/proportional.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/json_object.hpp"
#include "posenc/model/rope_result.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// What a rule takes from outside its own keys.
struct rope_surroundings {
  std::string kind;  ///< the name of the layers' kind, for findings
  std::size_t head_dim, rotary_dim;
  double base;
  std::optional<double> partial_rotary_factor;  ///< p of the proportional rule
  std::optional<std::size_t> context;           ///< max_position_embeddings
  std::optional<std::size_t> original_context;  ///< original_max_position_embeddings beside
                                                ///< rope_parameters, where Phi 3 has it
};

class rope_rules {
 public:
  rope_rules(json_object const& keys, rope_surroundings around, findings& found)
      : keys_(keys), around_(std::move(around)), findings_(found) {}

  /// Throws std::invalid_argument for an unknown rope_type, absent or bad keys, and those that
  /// contradict each other.
  rope_result read() {
    error_context const context(keys_.where());
    return read(rule());
  }

  /// By rope_type or its old name type, of old names the new ones.
  static std::string rule_of(json_object const& keys) {
    auto const name =
        keys.agreed({"rope_type", "type"}, [](json_object const& o, std::string const& key) {
          auto text = o.text(key);
          if (text == "su") text = "longrope";
          if (text == "mrope") text = "default";  // its sections are axes, not frequencies
          return text;
        });
    return name.value_or("default");
  }

 private:
  std::string rule() const {
    auto name = rule_of(keys_);
    // Phi 3's first configurations.
    if (name == "yarn" && keys_.has("short_factor") && keys_.has("long_factor")) name = "longrope";
    return name;
  }

  rope_result read(std::string const& rule) {
    if (rule == "proportional") {
      auto const p = around_.partial_rotary_factor.value_or(1);
      return {rule, proportional(around_.head_dim, around_.base, p, factor_or(1))};
    }
    auto const series = geometric(around_.rotary_dim, around_.base);
    if (rule == "default") {
      auto const factor = keys_.number("factor");
      if (factor && *factor != 1)
        keys_.refuse("factor", "not be given without a rope_type that takes it");
      return {rule, series};
    }
    if (rule == "linear") return {rule, linear(series, needed("factor"))};
    if (rule == "dynamic") return read_dynamic(series);
    if (rule == "llama3") {
      return {rule, llama3(series, {.factor = needed("factor"),
                                    .low_freq_factor = needed("low_freq_factor"),
                                    .high_freq_factor = needed("high_freq_factor"),
                                    .original_length = original_length()})};
    }
    if (rule == "yarn") return read_yarn();
    if (rule == "longrope") return read_longrope(series);
    keys_.refuse(
        keys_.has("rope_type") ? "rope_type" : "type",
        "be one of default, linear, dynamic, yarn, longrope (or su), llama3, proportional, mrope");
  }

  rope_result read_dynamic(frequencies const& series) {
    if (auto const alpha = keys_.number("alpha")) {
      note("dynamic with alpha, as Hunyuan has it: one NTK factor for every length.");
      return {"ntk", ntk(series, *alpha)};
    }
    dynamic_ntk_scaling const scaling{needed("factor"), trained_length()};
    dynamic_ntk(series, scaling, 1);  // throws now if ever
    note("dynamic NTK: frequencies change with the length beyond " + shown(scaling.trained_length) +
         " tokens.");
    return {"dynamic", frequencies_by_length([=](std::size_t length) {
              return dynamic_ntk(series, scaling,
                                 static_cast<double>(std::max<std::size_t>(length, 1)));
            })};
  }

  rope_result read_yarn() {
    auto const original = original_length();
    yarn_scaling scaling{.factor = factor_by_context(original), .original_length = original};
    auto const set = [&](char const* key, double& to) {
      auto const given = keys_.number(key);
      if (given && *given != 0) to = *given;  // Hugging Face takes 0 as absent
    };
    set("beta_fast", scaling.beta_fast), set("beta_slow", scaling.beta_slow);
    scaling.truncate = keys_.flag("truncate").value_or(true);
    scaling.mscale = keys_.number("mscale"),
    scaling.mscale_all_dim = keys_.number("mscale_all_dim");
    scaling.attention_factor = keys_.number("attention_factor");
    if (scaling.beta_fast < scaling.beta_slow)
      note("beta_fast is below beta_slow: YaRN's ramp falls.");
    auto const ramp = ramp_of_yarn(around_.rotary_dim, around_.base, scaling);
    note("YaRN's ramp runs from pair " + rounded(ramp.first) + " to " + rounded(ramp.last) + ".");
    return {"yarn", yarn(around_.rotary_dim, around_.base, scaling), softmax_factor(scaling)};
  }

  rope_result read_longrope(frequencies const& series) {
    auto const original = original_length();
    longrope_scaling scaling{.short_factor = list("short_factor"),
                             .long_factor = list("long_factor"),
                             .original_length = original,
                             .factor = factor_by_context(original),
                             .attention_factor = keys_.number("attention_factor")};
    // Phi MoE has a factor of its own for either list, which then is all.
    auto const of_short = keys_.number("short_mscale"), of_long = keys_.number("long_mscale");
    if (of_short.has_value() != of_long.has_value())
      keys_.refuse(of_short ? "long_mscale" : "short_mscale", "be given where the other is");
    auto const at = [=](std::size_t length) {
      auto with = scaling;
      auto const tokens = static_cast<double>(std::max<std::size_t>(length, 1));
      if (of_short) with.attention_factor = tokens > original ? of_long : of_short;
      return longrope(series, with, tokens);
    };
    at(1), at(static_cast<std::size_t>(original) + 1);  // throws now if ever
    note("LongRoPE: the short list up to " + shown(original) + " tokens, the long one beyond.");
    return {"longrope", frequencies_by_length(at)};
  }

  static std::string rounded(double index) { return shown(std::round(100 * index) / 100); }

  double needed(char const* key) const {
    auto const given = keys_.number(key);
    if (!given) keys_.refuse(key, "be given for rope_type " + rule());
    return *given;
  }
  std::vector<double> list(char const* key) const {
    auto given = keys_.numbers(key);
    if (!given) keys_.refuse(key, "be given for rope_type " + rule());
    return std::move(*given);
  }
  double factor_or(double otherwise) const { return keys_.number("factor").value_or(otherwise); }

  double trained_length() const {
    if (!around_.context)
      refuse(keys_.where(), ": max_position_embeddings must be given for rope_type ", rule());
    return static_cast<double>(*around_.context);
  }

  double original_length() {
    auto const inside = keys_.count("original_max_position_embeddings", most_tokens);
    if (inside && around_.original_context && *inside != *around_.original_context) {
      keys_.refuse(
          "original_max_position_embeddings",
          "agree with the one beside it, which is " + std::to_string(*around_.original_context));
    }
    if (inside) return static_cast<double>(*inside);
    if (around_.original_context) return static_cast<double>(*around_.original_context);
    auto const length = trained_length();
    assume("original_max_position_embeddings is not given: max_position_embeddings, " +
           shown(length) + ".");
    return length;
  }

  // How much longer the context is than the original one, unless it is said.
  double factor_by_context(double original) {
    auto const given = keys_.number("factor");
    if (!around_.context) {
      if (!given) keys_.refuse("factor", "be given where max_position_embeddings is not");
      return *given;
    }
    auto const ratio = static_cast<double>(*around_.context) / original;
    if (!given) {
      assume("factor is not given: max_position_embeddings / original_max_position_embeddings, " +
             shown(ratio) + ".");
    } else if (*given != ratio) {
      note("factor is " + shown(*given) + " although max_position_embeddings is " + shown(ratio) +
           " times the original.");
    }
    return given.value_or(ratio);
  }

  void assume(std::string const& sentence) { findings_.assume(around_.kind + ": " + sentence); }
  void note(std::string const& sentence) { findings_.note(around_.kind + ": " + sentence); }

  json_object keys_;
  rope_surroundings around_;
  findings& findings_;
};

}  // namespace detail
}  // namespace posenc
