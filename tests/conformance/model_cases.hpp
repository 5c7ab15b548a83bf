#pragma once

/// The frequencies of models: their settings are those of tests/golden/models.hpp.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "golden/models.hpp"
#include "rotary_case.hpp"
#include "rules.hpp"

namespace conformance {

inline std::vector<double> list_of(std::span<double const> values) {
  return {values.begin(), values.end()};
}

/// What the settings say, in the words of rope_parameters.
inline text::object said(golden::rope const& r, std::size_t head_dim) {
  using golden::rope_rule;
  static std::map<rope_rule, char const*> const names{
      {rope_rule::plain, "default"},     {rope_rule::linear, "linear"},
      {rope_rule::llama3, "llama3"},     {rope_rule::yarn, "yarn"},
      {rope_rule::longrope, "longrope"}, {rope_rule::proportional, "proportional"}};
  text::object object;
  object.add("rope_type", r.blocks > 1 ? "axial" : names.at(r.rule)).add("rope_theta", r.base);
  bool const has_length =
      r.rule == rope_rule::llama3 || r.rule == rope_rule::yarn || r.rule == rope_rule::longrope;
  if (r.rule != rope_rule::plain && r.factor != 1) object.add("factor", r.factor);
  if (has_length) object.add("original_max_position_embeddings", r.trained);
  if (r.rule == rope_rule::yarn) {
    object.add("beta_fast", r.beta_fast).add("beta_slow", r.beta_slow);
    if (!r.truncate) object.add("truncate", false);
    object.add("attention_factor", r.attention_factor);
  }
  if (r.rule == rope_rule::llama3)
    object.add("low_freq_factor", r.low_freq_factor).add("high_freq_factor", r.high_freq_factor);
  if (r.rule == rope_rule::longrope)
    object.raw("short_factor", text::settings(list_of(r.short_factors)))
        .raw("long_factor", text::settings(list_of(r.long_factors)));
  if (r.rule == rope_rule::proportional) object.add("partial_rotary_factor", r.p);
  if (r.rotary_dim != head_dim && r.blocks == 1)
    object.add("partial_rotary_factor",
               static_cast<double>(r.rotary_dim) / static_cast<double>(head_dim));
  if (r.blocks > 1)
    object.raw("axis_dims", text::settings(std::vector<std::size_t>(r.blocks, r.rotary_dim)));
  if (r.sections[0] != 0) {
    object.raw("mrope_section",
               text::settings(std::vector<std::size_t>(r.sections.begin(), r.sections.end())));
    if (r.interleaved_axes) object.add("mrope_interleaved", true);
  }
  return object;
}

inline series series_of(golden::rope const& r, bool beyond) {
  using namespace exact;
  using golden::rope_rule;
  auto const plain = geometric(r.rotary_dim, r.base);
  switch (r.rule) {
    case rope_rule::plain:
      return plain;
    case rope_rule::linear:
      return linear(plain, r.factor);
    case rope_rule::llama3:
      return ntk_by_parts(plain, r.factor, r.trained, r.low_freq_factor, r.high_freq_factor);
    case rope_rule::yarn:
      return yarn(r.rotary_dim, r.base,
                  {.factor = r.factor,
                   .trained = r.trained,
                   .fast = r.beta_fast,
                   .slow = r.beta_slow,
                   .truncate = r.truncate});
    case rope_rule::longrope:
      return divided(plain, list_of(beyond ? r.long_factors : r.short_factors));
    case rope_rule::proportional:
      return linear(p_rope(plain, r.p), r.factor);
  }
  return plain;
}

/// The attention factor of a model's settings, exactly where the rule has a formula for it.
inline number factor_of(golden::rope const& r) {
  using golden::rope_rule;
  if (r.rule == rope_rule::longrope) return exact::longrope_magnitude(r.factor, r.trained);
  return number(r.attention_factor);
}

inline rotary_case model_case(golden::rope const& r, std::size_t head_dim, bool beyond) {
  rotary_case made{.name = {},
                   .covers = {},
                   .source = {"the model's config.json", "its class in transformers"},
                   .rope_parameters = said(r, head_dim),
                   .head_dim = head_dim,
                   .inv_freq = series_of(r, beyond),
                   .attention_factor = factor_of(r),
                   .layout = r.interleaved ? "interleaved" : "halves",
                   .first_dim = r.last ? head_dim - r.rotary_dim : 0,
                   .blocks = r.blocks,
                   .positions = one_axis({1, 131071})};
  made.rows = false;
  auto const pairs = made.inv_freq.size();
  if (r.blocks > 1) {
    auto const one = made.inv_freq;
    for (std::size_t b = 1; b < r.blocks; ++b)
      made.inv_freq.insert(made.inv_freq.end(), one.begin(), one.end());
    for (std::size_t i = 0; i < made.inv_freq.size(); ++i) made.axis_of_pair.push_back(i / pairs);
    made.positions = {{1, 0}, {40, 1023}};
  }
  for (std::size_t i = 0; i < pairs && r.sections[0] != 0; ++i) {
    auto const alternating = i % 3 != 0 && i < 3 * r.sections[i % 3] ? i % 3 : 0;
    auto const in_section = i < r.sections[0] ? 0 : i < r.sections[0] + r.sections[1] ? 1 : 2;
    made.axis_of_pair.push_back(r.interleaved_axes ? alternating
                                                   : static_cast<std::size_t>(in_section));
    made.positions = {{5, 7, 11}, {131071, 131071, 131071}};
  }
  if (r.rule == golden::rope_rule::longrope) made.length = beyond ? r.trained + 1 : r.trained;
  return made;
}

/// One case for all models and kinds of layers that rotate alike.
inline std::vector<rotary_case> model_cases() {
  std::vector<rotary_case> cases;
  std::map<std::string, std::size_t> known;
  for (auto const& model : golden::models) {
    std::size_t rotating = 0;
    for (auto const& kind : model.kinds) rotating += kind.letter != 0 && kind.rotary ? 1u : 0u;
    for (auto const& kind : model.kinds) {
      if (kind.letter == 0 || !kind.rotary) continue;
      bool const depends = kind.rotary->rule == golden::rope_rule::longrope;
      for (bool const beyond : {false, true}) {
        if (beyond && !depends) continue;
        auto made = model_case(*kind.rotary, kind.head_dim, beyond);
        auto const text = written(made);
        std::string shown(model.name);
        if (rotating > 1) shown += std::string(" (kind ") + kind.letter + ')';
        if (auto const [at, is_new] = known.emplace(text, cases.size()); !is_new) {
          auto& models = cases[at->second].models;
          if (std::find(models.begin(), models.end(), shown) == models.end())
            models.push_back(shown);
          continue;
        }
        made.name = "model-" + std::string(model.name);
        if (rotating > 1) made.name += std::string("-") + kind.letter;
        if (beyond) made.name += "-long";
        made.covers = "frequencies and heads of models";
        made.models = {shown};
        cases.push_back(std::move(made));
      }
    }
  }
  return cases;
}

}  // namespace conformance
