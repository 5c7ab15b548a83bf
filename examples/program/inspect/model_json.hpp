// A model's description as JSON, as posenc inspect --json prints it.
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

template <class Json = ordered_json, class T>
Json json_or_null(std::optional<T> const& x) {
  return x ? Json(*x) : Json(nullptr);
}

inline std::string name_of(std::variant<posenc::halves, posenc::interleaved> const& layout) {
  return std::holds_alternative<posenc::halves>(layout) ? "halves" : "interleaved";
}

template <class Json = ordered_json>
Json json_of(std::vector<posenc::model_setting> const& settings) {
  auto object = Json::object();
  for (auto const& [key, value] : settings) {
    auto parsed = Json::parse(value, nullptr, false);
    object[key] = parsed.is_discarded() ? Json(value) : std::move(parsed);
  }
  return object;
}

template <class Json = ordered_json>
Json json_of(posenc::rotary_description const& rotary, std::size_t head_dim, std::size_t length) {
  auto const f = rotary.frequencies.at(length);
  Json object{{"rule", rotary.rule},
              {"rotary_dim", f.rotary_dim()},
              {"first_dim", rotary.block.first_dim(head_dim, f.rotary_dim())},
              {"layout", name_of(rotary.layout)},
              {"opposite", rotary.opposite},
              {"attention_factor", f.attention_factor()},
              {"depends_on_length", rotary.frequencies.depends_on_length()},
              {"has_pair_factors", rotary.has_pair_factors},
              {"parameters", json_of<Json>(rotary.parameters)},
              {"axes", nullptr},
              {"inv_freq", std::vector(f.inv_freq().begin(), f.inv_freq().end())}};
  if (rotary.axes) {
    object["axes"] = Json::array();
    for (std::size_t i = 0; i < rotary.axes->pairs(); ++i)
      object["axes"].push_back(rotary.axes->axis(i));
  }
  return object;
}

template <class Json = ordered_json>
Json json_of(posenc::norm_description const& norm) {
  constexpr char const* scopes[]{"unknown", "none", "head", "own_weights", "token", "centred"};
  Json object{{"of", scopes[static_cast<std::size_t>(norm.of)]}};
  if (norm.of <= posenc::norm_scope::none) return object;
  object["place"] = norm.how.place == posenc::norm_place::before ? "before" : "after";
  object["eps"] = norm.how.eps;
  object["plus_one"] = norm.how.plus_one;
  object["weights"] = norm.weights;
  object["tensor"] = norm.tensor;
  return object;
}

template <class Json = ordered_json>
Json json_of(posenc::both_ways which) {
  constexpr char const* names[]{"image", "image_within_window", "prefix"};
  auto const i = static_cast<std::size_t>(which);
  return i == 0 ? Json(nullptr) : Json(names[i - 1]);
}

template <class Json = ordered_json>
Json json_of(posenc::layer_description const& kind, std::size_t length) {
  Json object{{"name", kind.name},
              {"layers", kind.layers},
              {"head_dim", kind.head_dim},
              {"heads", kind.heads},
              {"key_heads", kind.key_heads},
              {"rotary", Json::array()},
              {"query_norm", json_of<Json>(kind.query_norm)},
              {"key_norm", json_of<Json>(kind.key_norm)},
              {"value_norm", json_of<Json>(kind.value_norm)},
              {"key_bias", json_or_null<Json>(kind.key_bias)},
              {"key_bias_is_separable", json_or_null<Json>(kind.key_bias_is_separable())},
              {"alibi", nullptr},
              {"buckets", nullptr},
              {"temperature", nullptr},
              {"softmax_factor", kind.softmax_factor},
              {"score_cap", json_or_null<Json>(kind.score_cap)},
              {"sinks", kind.sinks},
              {"window", json_or_null<Json>(kind.window)},
              {"ahead", json_or_null<Json>(kind.ahead)},
              {"chunk", json_or_null<Json>(kind.chunk)},
              {"both_ways", json_of<Json>(kind.both_ways)},
              {"index", nullptr},
              {"shares_index", kind.shares_index},
              {"pooled", kind.pooled}};
  for (auto const& rotary : kind.rotary)
    object["rotary"].push_back(json_of<Json>(rotary, kind.head_dim, length));
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
                       {"rotary", json_of<Json>(index.rotary, index.head_dim, length)}};
  }
  return object;
}

/// The members of model_description by their names, in their order if Json keeps it; frequencies
/// are those of a sequence of `length` tokens.
template <class Json = ordered_json>
Json json_of(posenc::model_description const& model, std::size_t length) {
  Json object{{"type", model.type},
              {"layers", model.layers},
              {"context", json_or_null<Json>(model.context)},
              {"length", length},
              {"embedding", model.embedding},
              {"kinds", Json::array()},
              {"assumptions", model.assumptions},
              {"key_layers", model.key_layers},
              {"notes", model.notes},
              {"read", json_of<Json>(model.read)},
              {"assumed", json_of<Json>(model.assumed)},
              {"ignored", json_of<Json>(model.ignored)}};
  for (auto const& kind : model.kinds) object["kinds"].push_back(json_of<Json>(kind, length));
  return object;
}

}  // namespace model_json
