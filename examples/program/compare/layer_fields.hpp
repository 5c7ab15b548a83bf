// Which settings of two layers differ, as text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/model/model_description.hpp"

namespace comparing {

/// A setting that differs.
struct field_difference {
  std::string field,  ///< as layer_description or model_description names it
      a,              ///< its value in the first model, as text; "" where it is absent
      b;              ///< its value in the second model

  bool operator==(field_difference const&) const = default;
};

using posenc::detail::shown;

inline std::string shown_setting(auto const& x) { return shown(x); }
inline std::string shown_setting(bool x) { return x ? "true" : "false"; }
inline std::string shown_setting(std::string const& x) { return x; }
inline std::string shown_setting(std::variant<posenc::halves, posenc::interleaved> const& x) {
  return std::holds_alternative<posenc::halves>(x) ? "halves" : "interleaved";
}
inline std::string shown_setting(posenc::pair_axes const& x) {
  std::string text;
  for (std::size_t i = 0; i < x.pairs(); ++i)
    text.append(i == 0 ? "" : " ").append(shown(x.axis(i)));
  return text;
}
inline std::string shown_setting(posenc::alibi_bias const& x) {
  return shown(x.heads) + " heads, max bias " + shown(x.max_bias) +
         (x.factor == 1 ? "" : ", times " + shown(x.factor));
}
inline std::string shown_setting(posenc::bucket_bias const& x) {
  return shown(x.buckets) + " up to " + shown(x.max_distance);
}
inline std::string shown_setting(posenc::position_temperature const& x) {
  return "1 + " + shown(x.scale) + " ln(1 + floor((position + " + shown(x.offset) + ") / " +
         shown(x.floor_scale) + "))";
}
inline std::string shown_setting(posenc::both_ways x) {
  constexpr char const* names[]{"", "image", "image within the window", "prefix"};
  return names[static_cast<std::size_t>(x)];
}
inline std::string shown_setting(posenc::index_heads const& x) {
  return shown(x.heads) + " of " + shown(x.head_dim) + " dims choose " + shown(x.chosen) +
         " blocks of " + shown(x.block) + " besides " + shown(x.local_blocks) +
         " local ones, a key for " + shown(x.key_stride) + " tokens";
}
template <class T>
std::string shown_setting(std::optional<T> const& x) {
  return x ? shown_setting(*x) : std::string();
}

/// Adds a setting, if it differs.
void add_field(std::vector<field_difference>& fields, std::string const& name, auto const& a,
               auto const& b) {
  auto const x = shown_setting(a), y = shown_setting(b);
  if (x != y) fields.push_back({name, x, y});
}

inline void add_rotary(std::vector<field_difference>& fields, std::string const& prefix,
                       posenc::layer_description const& a, posenc::layer_description const& b,
                       std::size_t block, std::size_t length) {
  auto const &r = a.rotary[block], &s = b.rotary[block];
  auto const add = [&](std::string const& name, auto const& x, auto const& y) {
    add_field(fields, prefix + name, x, y);
  };
  add("rule", r.rule, s.rule);
  // The settings that a rule was made of, where both files name them.
  std::map<std::string, std::pair<std::string, std::string>> values;
  if (!r.parameters.empty() && !s.parameters.empty()) {
    for (auto const& one : r.parameters) values[one.key].first = one.value;
    for (auto const& one : s.parameters) values[one.key].second = one.value;
    values.erase("rope_type");
  }
  for (auto const& [key, both] : values) add(key, both.first, both.second);
  auto const f = r.frequencies.at(length), g = s.frequencies.at(length);
  add("layout", r.layout, s.layout);
  add("opposite angle", r.opposite, s.opposite);
  add("rotary_dim", f.rotary_dim(), g.rotary_dim());
  add("first rotary dim", r.block.first_dim(a.head_dim, f.rotary_dim()),
      s.block.first_dim(b.head_dim, g.rotary_dim()));
  add("attention_factor", f.attention_factor(), g.attention_factor());
  add("axes", r.axes, s.axes);
  if (f.pairs() != g.pairs()) return;
  std::size_t at = 0;  // the pair that differs most
  double most = 0;
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const x = f.inv_freq()[i], y = g.inv_freq()[i],
               off = x == y ? 0 : std::abs(x - y) / std::max(x, y);
    if (off > most) at = i, most = off;
  }
  add("inv_freq of pair " + shown(at), f.inv_freq()[at], g.inv_freq()[at]);
}

inline std::vector<field_difference> differing_fields(posenc::layer_description const& a,
                                                      posenc::layer_description const& b,
                                                      std::size_t length) {
  std::vector<field_difference> fields;
  auto const add = [&](std::string const& name, auto const& of) {
    add_field(fields, name, std::invoke(of, a), std::invoke(of, b));
  };
  using layer = posenc::layer_description;
  add("head_dim", &layer::head_dim);
  add("rotary blocks", [](layer const& x) { return x.rotary.size(); });
  for (std::size_t i = 0; i < std::min(a.rotary.size(), b.rotary.size()); ++i)
    add_rotary(fields, i == 0 ? "" : "block " + shown(i) + ": ", a, b, i, length);
  add("softmax_factor", &layer::softmax_factor);
  add("alibi", &layer::alibi);
  add("buckets", &layer::buckets);
  add("temperature", &layer::temperature);
  add("score_cap", &layer::score_cap);
  add("sinks", &layer::sinks);
  add("window", &layer::window);
  add("ahead", [](layer const& x) { return x.ahead ? shown(*x.ahead) : "all"; });
  add("chunk", &layer::chunk);
  add("both_ways", &layer::both_ways);
  add("index heads", &layer::index);
  add("shares_index", &layer::shares_index);
  add("pooled", &layer::pooled);
  return fields;
}

}  // namespace comparing
