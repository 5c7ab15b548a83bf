// A model's description as JSON, as inspect_model --json prints it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/model/model_description.hpp"

namespace model_json {

using nlohmann::ordered_json;

template <class T>
ordered_json json_or_null(std::optional<T> const& x) {
  return x ? ordered_json(*x) : ordered_json(nullptr);
}

inline std::string name_of(std::variant<posenc::halves, posenc::interleaved> const& layout) {
  return std::holds_alternative<posenc::halves>(layout) ? "halves" : "interleaved";
}

inline ordered_json json_of(std::vector<posenc::model_setting> const& settings) {
  auto object = ordered_json::object();
  for (auto const& [key, value] : settings) {
    auto parsed = ordered_json::parse(value, nullptr, false);
    object[key] = parsed.is_discarded() ? ordered_json(value) : std::move(parsed);
  }
  return object;
}

inline ordered_json json_of(posenc::rotary_description const& rotary, std::size_t head_dim,
                            std::size_t length) {
  auto const f = rotary.frequencies.at(length);
  ordered_json object{{"rule", rotary.rule},
                      {"rotary_dim", f.rotary_dim()},
                      {"first_dim", rotary.block.first_dim(head_dim, f.rotary_dim())},
                      {"layout", name_of(rotary.layout)},
                      {"opposite", rotary.opposite},
                      {"attention_factor", f.attention_factor()},
                      {"depends_on_length", rotary.frequencies.depends_on_length()},
                      {"has_pair_factors", rotary.has_pair_factors},
                      {"parameters", json_of(rotary.parameters)},
                      {"axes", nullptr},
                      {"inv_freq", std::vector(f.inv_freq().begin(), f.inv_freq().end())}};
  if (rotary.axes) {
    object["axes"] = ordered_json::array();
    for (std::size_t i = 0; i < rotary.axes->pairs(); ++i)
      object["axes"].push_back(rotary.axes->axis(i));
  }
  return object;
}

inline ordered_json json_of(posenc::norm_description const& norm) {
  constexpr char const* scopes[]{"unknown", "none", "head", "own_weights", "token", "centred"};
  ordered_json object{{"of", scopes[static_cast<std::size_t>(norm.of)]}};
  if (norm.of <= posenc::norm_scope::none) return object;
  object["place"] = norm.how.place == posenc::norm_place::before ? "before" : "after";
  object["eps"] = norm.how.eps;
  object["plus_one"] = norm.how.plus_one;
  object["weights"] = norm.weights;
  object["tensor"] = norm.tensor;
  return object;
}

inline ordered_json json_of(posenc::both_ways which) {
  constexpr char const* names[]{"image", "image_within_window", "prefix"};
  auto const i = static_cast<std::size_t>(which);
  return i == 0 ? ordered_json(nullptr) : ordered_json(names[i - 1]);
}

inline ordered_json json_of(posenc::layer_description const& kind, std::size_t length) {
  ordered_json object{{"name", kind.name},
                      {"layers", kind.layers},
                      {"head_dim", kind.head_dim},
                      {"heads", kind.heads},
                      {"key_heads", kind.key_heads},
                      {"rotary", ordered_json::array()},
                      {"query_norm", json_of(kind.query_norm)},
                      {"key_norm", json_of(kind.key_norm)},
                      {"value_norm", json_of(kind.value_norm)},
                      {"key_bias", json_or_null(kind.key_bias)},
                      {"key_bias_is_separable", json_or_null(kind.key_bias_is_separable())},
                      {"alibi", nullptr},
                      {"buckets", nullptr},
                      {"temperature", nullptr},
                      {"softmax_factor", kind.softmax_factor},
                      {"score_cap", json_or_null(kind.score_cap)},
                      {"sinks", kind.sinks},
                      {"window", json_or_null(kind.window)},
                      {"ahead", json_or_null(kind.ahead)},
                      {"chunk", json_or_null(kind.chunk)},
                      {"both_ways", json_of(kind.both_ways)},
                      {"index", nullptr},
                      {"shares_index", kind.shares_index},
                      {"pooled", kind.pooled}};
  for (auto const& rotary : kind.rotary)
    object["rotary"].push_back(json_of(rotary, kind.head_dim, length));
  if (kind.alibi)
    object["alibi"] = {{"heads", kind.alibi->heads},
                       {"max_bias", kind.alibi->max_bias},
                       {"factor", kind.alibi->factor}};
  if (kind.buckets) {
    object["buckets"] = {{"buckets", kind.buckets->buckets},
                         {"max_distance", kind.buckets->max_distance}};
  }
  if (kind.temperature) {
    object["temperature"] = {{"scale", kind.temperature->scale},
                             {"floor_scale", kind.temperature->floor_scale},
                             {"offset", kind.temperature->offset}};
  }
  if (kind.index) {
    auto const& index = *kind.index;
    object["index"] = {{"heads", index.heads},
                       {"head_dim", index.head_dim},
                       {"chosen", index.chosen},
                       {"block", index.block},
                       {"local_blocks", index.local_blocks},
                       {"key_stride", index.key_stride},
                       {"rotary", json_of(index.rotary, index.head_dim, length)}};
  }
  return object;
}

/// The members of model_description by their names; frequencies are those of a sequence of `length`
/// tokens.
inline ordered_json json_of(posenc::model_description const& model, std::size_t length) {
  ordered_json object{{"type", model.type},
                      {"layers", model.layers},
                      {"context", json_or_null(model.context)},
                      {"length", length},
                      {"embedding", model.embedding},
                      {"kinds", ordered_json::array()},
                      {"assumptions", model.assumptions},
                      {"key_layers", model.key_layers},
                      {"notes", model.notes},
                      {"read", json_of(model.read)},
                      {"assumed", json_of(model.assumed)},
                      {"ignored", json_of(model.ignored)}};
  for (auto const& kind : model.kinds) object["kinds"].push_back(json_of(kind, length));
  return object;
}

}  // namespace model_json
