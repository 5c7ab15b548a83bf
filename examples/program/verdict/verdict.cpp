#include "verdict.hpp"

#include <algorithm>
#include <utility>

#include "effects.hpp"
#include "mistakes.hpp"

namespace verdicts {
namespace {

using nlohmann::ordered_json;
using posenc::layer_description;
using posenc::model_description;

layer_row row_of(layer_description const& kind) {
  layer_row row{.kind = kind.name, .layers = kind.layers, .dims = "none"};
  if (kind.window) row.sees = kind.window;
  if (kind.chunk) row.sees = kind.chunk;
  using enum posenc::both_ways;
  if (kind.ahead != 0) {
    bool const is_window = kind.window && kind.ahead == *kind.window - 1;
    row.sides = is_window ? "to either side" : "both sides";
    if (is_window) row.sees = kind.ahead;
  } else if (kind.both_ways != none) {
    row.sides = kind.both_ways == prefix ? "prompt both ways" : "images both ways";
  }
  if (kind.alibi) row.rule = "ALiBi";
  if (kind.buckets) row.rule = "T5's buckets";
  if (kind.rotary.empty()) {
    if (row.rule.empty()) row.rule = "no RoPE";
    return row;
  }
  auto const& rotary = kind.rotary.front();
  auto const f = rotary.frequencies.at(1);
  auto const stand = std::ranges::count_if(f.inv_freq(), is_standing);
  std::size_t dims = 0;
  for (auto const& one : kind.rotary) dims += one.frequencies.at(1).rotary_dim();
  dims -= 2 * static_cast<std::size_t>(stand);
  row.dims = std::to_string(dims) + " of " + std::to_string(kind.head_dim);
  row.pairs = is_interleaved(rotary) ? "interleaved" : "halves";
  row.base = base_of(rotary);
  row.rule = rotary.rule;
  if (rotary.has_pair_factors) row.rule += ", rope_freqs";
  if (rotary.axes && rotary.axes->axes() > 1)
    row.rule += ", " + std::to_string(rotary.axes->axes()) + " axes";
  return row;
}

pitfall pitfall_of(known_mistake const& known, made_mistake const& made,
                   layer_description const& kind) {
  return {.name = std::string(known.name),
          .says = made.says,
          .kinds = {kind.name},
          .layers = made.wrong.layers,
          .threads = {known.threads.begin(), known.threads.end()},
          .effects = effects_of(kind, made)};
}

/// Kinds of layers of which the same is to say, together; nothing of a mistake without an effect,
/// as YaRN's of a factor of 1.
void add(std::vector<pitfall>& to, pitfall const& one) {
  auto const acts = [](effect const& e) {
    return e.radians || e.score.value_or(0) > 0 || e.keys.value_or(0) > 0;
  };
  if (std::ranges::none_of(one.effects, acts)) return;
  auto const same = std::ranges::find_if(to, [&](pitfall const& other) {
    return other.name == one.name && other.says == one.says && other.effects == one.effects;
  });
  if (same == to.end()) return to.push_back(one);
  same->kinds.push_back(one.kinds.front());
  same->layers.insert(same->layers.end(), one.layers.begin(), one.layers.end());
  std::ranges::sort(same->layers);
}

template <class T>
ordered_json json_of(std::optional<T> const& x) {
  return x ? ordered_json(*x) : ordered_json(nullptr);
}

ordered_json json_of(pitfall const& one) {
  auto effects = ordered_json::array();
  for (auto const& e : one.effects)
    effects.push_back({{"tokens", e.tokens},
                       {"distance", e.distance},
                       {"radians", json_of(e.radians)},
                       {"score", json_of(e.score)},
                       {"keys", json_of(e.keys)}});
  return {{"name", one.name},     {"says", one.says},       {"kinds", one.kinds},
          {"layers", one.layers}, {"threads", one.threads}, {"effects", std::move(effects)}};
}

}  // namespace

std::string shown_sees(layer_row const& row, std::string const& number) {
  auto const text = row.sees ? number : "all";
  if (row.sides.empty()) return text;
  return text + (row.sides == "to either side" ? " " : ", ") + row.sides;
}

verdict verdict_on(model_description const& model) {
  verdict result;
  for (auto const& kind : model.kinds) {
    if (kind.head_dim == 0 && !kind.alibi && !kind.buckets) continue;  // no attention
    result.rows.push_back(row_of(kind));
    for (auto const& known : known_mistakes())
      if (auto const made = known.make(model, kind))
        add(result.pitfalls, pitfall_of(known, *made, kind));
    auto const made = float_angles().make(model, kind);
    if (!made) continue;
    auto const rounding = pitfall_of(float_angles(), *made, kind);
    auto const last = [](pitfall const& of) { return of.effects.back().score; };
    if (!result.rounding || last(rounding) > last(*result.rounding)) result.rounding = rounding;
  }
  return result;
}

ordered_json json_of(verdict const& found, model_description const& model) {
  ordered_json object{{"verdict", found.pitfalls.empty() ? "uncontested" : "contested"},
                      {"type", model.type},
                      {"layers", model.layers},
                      {"context", json_of(model.context)},
                      {"kinds", ordered_json::array()},
                      {"pitfalls", ordered_json::array()},
                      {"rounding", nullptr},
                      {"assumptions", model.assumptions}};
  for (auto const& row : found.rows)
    object["kinds"].push_back({{"name", row.kind},
                               {"layers", row.layers},
                               {"dims", row.dims},
                               {"pairs", row.pairs},
                               {"rule", row.rule},
                               {"base", json_of(row.base)},
                               {"sees", json_of(row.sees)},
                               {"sides", row.sides}});
  for (auto const& one : found.pitfalls) object["pitfalls"].push_back(json_of(one));
  if (found.rounding) object["rounding"] = json_of(*found.rounding);
  return object;
}

}  // namespace verdicts
