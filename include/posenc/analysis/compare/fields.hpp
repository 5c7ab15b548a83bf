// Which settings of two layers differ, as text, and from which position on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/analysis/comparison.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/score_row.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET::detail {

inline std::string shown_setting(bool x) { return x ? "true" : "false"; }
inline std::string shown_setting(std::string const& x) { return x; }
inline std::string shown_setting(auto x) { return shown(x); }
template <class T>
std::string shown_setting(std::optional<T> const& x) {
  return x ? shown_setting(*x) : std::string();
}

class differing_fields {
 public:
  differing_fields(layer_description const& a, layer_description const& b, std::size_t length,
                   double threshold)
      : length_(length), threshold_(threshold) {
    compare("head_dim", a.head_dim, b.head_dim, 0);
    compare("rotary blocks", a.rotary.size(), b.rotary.size());
    for (std::size_t i = 0; i < std::min(a.rotary.size(), b.rotary.size()); ++i)
      compare_rotary(a.rotary[i], b.rotary[i], a.head_dim, b.head_dim, i);
    compare("softmax_factor", a.softmax_factor, b.softmax_factor);
    compare_alibi(a.alibi, b.alibi);
    compare("buckets", buckets(a), buckets(b), 0);
    compare("temperature", temperature(a), temperature(b), temperatures_differ(a, b));
    compare("score_cap", a.score_cap, b.score_cap, 0);
    compare("sinks", a.sinks, b.sinks, 0);
    compare("window", a.window, b.window, smaller(a.window, b.window));
    compare("chunk", a.chunk, b.chunk, smaller(a.chunk, b.chunk));
    compare("index heads", index(a), index(b), 0);
    compare("shares_index", a.shares_index, b.shares_index, 0);
    compare("pooled", a.pooled, b.pooled, 0);
  }

  std::vector<field_difference> fields;

 private:
  template <class T>
  void compare(std::string const& field, T const& a, T const& b,
               std::optional<std::int64_t> from = {}) {
    if (a != b) fields.push_back({field, shown_setting(a), shown_setting(b), from});
  }

  void compare_rotary(rotary_description const& a, rotary_description const& b, std::size_t a_dims,
                      std::size_t b_dims, std::size_t block) {
    auto const prefix = block == 0 ? std::string() : "block " + shown(block) + ": ";
    compare(prefix + "rule", a.rule, b.rule);
    compare_parameters(prefix, a, b);
    compare(prefix + "layout", layout(a), layout(b));
    auto const f = a.frequencies.at(length_), g = b.frequencies.at(length_);
    compare(prefix + "rotary_dim", f.rotary_dim(), g.rotary_dim());
    compare(prefix + "first rotary dim", a.block.first_dim(a_dims, f.rotary_dim()),
            b.block.first_dim(b_dims, g.rotary_dim()));
    compare(prefix + "attention_factor", f.attention_factor(), g.attention_factor());
    compare(prefix + "axes", axes(a), axes(b), 0);
    if (f.pairs() != g.pairs()) return;
    std::size_t at = 0;
    auto const off = [&](std::size_t i) {
      auto const x = f.inv_freq()[i], y = g.inv_freq()[i];
      return x == y ? 0 : std::abs(x - y) / std::max(x, y);
    };
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      if (off(i) > off(at)) at = i;
    }
    compare(prefix + "inv_freq of pair " + shown(at), f.inv_freq()[at], g.inv_freq()[at]);
  }

  /// The settings that a rule was made of, where both files name them.
  void compare_parameters(std::string const& prefix, rotary_description const& a,
                          rotary_description const& b) {
    if (a.parameters.empty() || b.parameters.empty()) return;
    std::set<std::string> keys;
    for (auto const& one : a.parameters) keys.insert(one.key);
    for (auto const& one : b.parameters) keys.insert(one.key);
    keys.erase("rope_type");
    auto const value = [](rotary_description const& rotary, std::string const& key) {
      auto const found = std::ranges::find(rotary.parameters, key, &model_setting::key);
      return found == rotary.parameters.end() ? std::string() : found->value;
    };
    for (auto const& key : keys) compare(prefix + key, value(a, key), value(b, key));
  }

  static std::string layout(rotary_description const& rotary) {
    return std::holds_alternative<halves>(rotary.layout) ? "halves" : "interleaved";
  }

  static std::string axes(rotary_description const& rotary) {
    std::string text;
    for (std::size_t i = 0; rotary.axes && i < rotary.axes->pairs(); ++i)
      text.append(i == 0 ? "" : " ").append(shown(rotary.axes->axis(i)));
    return text;
  }

  static std::string buckets(layer_description const& layer) {
    if (!layer.buckets) return "";
    return shown(layer.buckets->buckets) + " up to " + shown(layer.buckets->max_distance);
  }

  static std::string index(layer_description const& layer) {
    if (!layer.index) return "";
    auto const& i = *layer.index;
    return shown(i.heads) + " of " + shown(i.head_dim) + " dims choose " + shown(i.chosen) +
           " blocks of " + shown(i.block) + ", with " + shown(i.local_blocks) +
           " of their own, a key for " + shown(i.key_stride) + " tokens";
  }

  static std::string temperature(layer_description const& layer) {
    if (!layer.temperature) return "";
    auto const& t = *layer.temperature;
    return "1 + " + shown(t.scale) + " ln(1 + floor((position + " + shown(t.offset) + ") / " +
           shown(t.floor_scale) + "))";
  }

  static std::optional<std::int64_t> smaller(std::optional<std::size_t> a,
                                             std::optional<std::size_t> b) {
    if (!a && !b) return {};
    return static_cast<std::int64_t>(std::min(a.value_or(SIZE_MAX / 2), b.value_or(SIZE_MAX / 2)));
  }

  /// The first position at which the quotient of temperatures is off 1 by more than the threshold.
  std::optional<std::int64_t> temperatures_differ(layer_description const& a,
                                                  layer_description const& b) const {
    auto const beta = [](layer_description const& layer, std::int64_t position) {
      row_statistics row{};
      row.query_position = position;
      return layer.temperature ? layer.temperature->inverse_temperature(row) : 1;
    };
    std::set<std::int64_t> steps;  // positions at which one of them changes
    for (auto const& t : {a.temperature, b.temperature}) {
      for (std::size_t k = 1; t && k < 10'000; ++k) {
        auto const at = std::ceil(static_cast<double>(k) * t->floor_scale - t->offset);
        if (at >= static_cast<double>(length_)) break;
        steps.insert(static_cast<std::int64_t>(std::max(at, 0.0)));
      }
    }
    for (auto const at : steps) {
      auto const x = beta(a, at), y = beta(b, at);
      if (std::abs(x - y) > threshold_ * std::max(x, y)) return at;
    }
    return {};
  }

  void compare_alibi(std::optional<alibi_bias> const& a, std::optional<alibi_bias> const& b) {
    auto const text = [](std::optional<alibi_bias> const& x) {
      if (!x) return std::string();
      auto const factor = x->factor == 1 ? std::string() : ", times " + shown(x->factor);
      return shown(x->heads) + " heads, max bias " + shown(x->max_bias) + factor;
    };
    if (text(a) == text(b)) return;
    double slope = 0;  // the largest difference
    auto const heads = std::max(a ? a->heads : 0, b ? b->heads : 0);
    auto const slopes_of = [heads](std::optional<alibi_bias> const& x) {
      std::vector<double> slopes(heads);
      if (!x) return slopes;
      auto const bias = x->encoding();
      for (std::size_t head = 0; head < x->heads; ++head) slopes[head] = bias.bias(head, 1);
      return slopes;
    };
    auto const of_a = slopes_of(a), of_b = slopes_of(b);
    for (std::size_t head = 0; head < heads; ++head)
      slope = std::max(slope, std::abs(of_a[head] - of_b[head]));
    std::optional<std::int64_t> from;
    if (slope > 0 && threshold_ / slope < static_cast<double>(length_ - 1))
      from = static_cast<std::int64_t>(std::floor(threshold_ / slope)) + 1;
    fields.push_back({"alibi", text(a), text(b), from});
  }

  std::size_t length_;
  double threshold_;
};

}  // namespace posenc::detail
