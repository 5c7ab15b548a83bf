// What differs between two models, two layers or two engines' rows, and from which position on it
// matters.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/compare/fields.hpp"
#include "posenc/analysis/compare/score_matrix.hpp"
#include "posenc/analysis/comparison.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/layer_description.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/row_writer.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

inline void require_options(compare_options const& options) {
  require(is_finite(options.threshold) && options.threshold > 0,
          "compare: threshold must be finite and positive, got ", options.threshold);
  std::uint64_t const length = options.length.value_or(1);  // of 32 bits: always small enough
  require(length > 0 && length <= std::uint64_t{1} << 48,
          "compare: length must be from 1 to 2^48 tokens, got ", length);
}

inline std::size_t reach_of(layer_description const& layer, std::size_t length) {
  return std::min({length, layer.window.value_or(length), layer.chunk.value_or(length)});
}

inline layer_comparison compare_layers(layer_description const& a, layer_description const& b,
                                       std::size_t length, double threshold) {
  layer_comparison result{differing_fields(a, b, length, threshold).fields, {}, {}};
  if (a.head_dim != b.head_dim || a.head_dim == 0) return result;
  score_matrix const of_a(a, length), of_b(b, length);
  matrix_difference const difference(of_a, of_b);
  if (difference.is_zero()) return result;
  auto const end = static_cast<std::int64_t>(std::min(reach_of(a, length), reach_of(b, length)));
  result.matters_from = difference.first_above(threshold, end);
  std::set<std::int64_t> distances{0, end - 1};
  for (std::int64_t r = 1; r < end; r *= 2) distances.insert(r);
  if (result.matters_from) distances.insert(*result.matters_from);
  for (auto const r : distances) result.scores.push_back(difference.at(r));
  return result;
}

}  // namespace detail

/// Two layers: which settings differ, from which distance on scores differ by more than a
/// threshold, and by how much.
///
///     auto const difference = compare(a.kind_of(3), b.kind_of(3), {.length = 131'072});
///     difference.matters_from;             // 2: at distance 2 a score may be off by 2^-8
///     difference.scores.back().worst;      // 2: what it can be off by at the last distance
///
/// Positions are those of text: all axes have the same. Layers of different head_dim have no scores
/// to compare. Throws std::invalid_argument unless the threshold is finite and positive and the
/// length is from 1 to 2^48.
inline layer_comparison compare(layer_description const& a, layer_description const& b,
                                compare_options const& options = {}) {
  detail::require_options(options);
  return detail::compare_layers(a, b, options.length.value_or(4096), options.threshold);
}

/// Two models, layer by layer; those in which the same pair of kinds meets are together. If one has
/// more layers, its others are not compared. Throws as for layers.
inline model_comparison compare(model_description const& a, model_description const& b,
                                compare_options const& options = {}) {
  detail::require_options(options);
  model_comparison result;
  auto const field = [&](std::string const& name, auto const& x, auto const& y) {
    if (x != y)
      result.fields.push_back({name, detail::shown_setting(x), detail::shown_setting(y), {}});
  };
  field("type", a.type, b.type);
  field("layers", a.layers, b.layers);
  field("context", a.context, b.context);
  field("embedding", a.embedding, b.embedding);
  auto const shorter = std::min(a.context.value_or(SIZE_MAX), b.context.value_or(SIZE_MAX));
  auto const length = options.length.value_or(shorter == SIZE_MAX ? 4096 : shorter);
  std::map<std::pair<layer_description const*, layer_description const*>, std::vector<std::size_t>>
      pairs;
  for (std::size_t layer = 0; layer < std::min(a.layers, b.layers); ++layer)
    pairs[{&a.kind_of(layer), &b.kind_of(layer)}].push_back(layer);
  for (auto const& [kinds, layers] : pairs) {
    auto difference =
        detail::compare_layers(*kinds.first, *kinds.second, length, options.threshold);
    if (difference.fields.empty() && difference.scores.empty()) {
      result.equal_layers += layers.size();
    } else {
      result.layers.push_back({layers, std::move(difference)});
    }
  }
  std::ranges::sort(result.layers, {},
                    [](compared_layers const& one) { return one.layers.front(); });
  return result;
}

/// Rows of two engines, or of an engine and of cos_sin_rows, at the same positions:
///
///     compare_rows(cos_sin_rows<double>(f, positions).view(), float_angle_rows(f,
///     positions).view(),
///                  positions)
///
/// Scores are of a query at each position and a key at the position nearest to 0, which is best
/// among the positions; so an engine that counts positions from another start does not differ. Of
/// two other positions the differences of both may add up.
/// Throws std::invalid_argument unless there are rows, as many of one size as there are positions,
/// and all are finite; and as compare does.
template <std::floating_point A, std::floating_point B, position_range Positions>
rows_comparison compare_rows(cos_sin_view<A> const& a, cos_sin_view<B> const& b,
                             Positions const& positions, compare_options const& options = {}) {
  detail::require_options(options);
  auto const count = static_cast<std::size_t>(std::size(positions));
  detail::require(a.tokens() > 0 && a.tokens() == b.tokens() && a.tokens() == count,
                  "compare_rows: there must be as many rows on both sides as positions, got ",
                  a.tokens(), " and ", b.tokens(), " rows and ", count, " positions");
  detail::require(a.pairs() == b.pairs(), "compare_rows: rows must be of as many pairs, got ",
                  a.pairs(), " and ", b.pairs());
  std::vector<double> at;
  for (auto const p : positions) at.push_back(static_cast<double>(p));
  std::size_t key = 0;
  for (std::size_t t = 0; t < count; ++t) {
    if (std::abs(at[t]) < std::abs(at[key])) key = t;
  }
  // e^(i angle) of a query at token t and the key, times both lengths.
  auto const turned = [key](auto const& rows, std::size_t t, std::size_t i) {
    auto const c = static_cast<double>(rows.cos(t)[i]), s = static_cast<double>(rows.sin(t)[i]),
               d = static_cast<double>(rows.cos(key)[i]), u = static_cast<double>(rows.sin(key)[i]);
    detail::require(is_finite(c) && is_finite(s),
                    "compare_rows: cosines and sines must be finite, got ", c, " and ", s,
                    " at token ", t, ", pair ", i);
    return std::pair(c * d + s * u, s * d - c * u);
  };
  rows_comparison result;
  for (std::size_t t = 0; t < count; ++t) {
    row_difference now{at[t], 0, 0};
    double largest = 0, off = 0;
    for (std::size_t i = 0; i < a.pairs(); ++i) {
      auto const [x, y] = turned(a, t, i);
      auto const [v, w] = turned(b, t, i);
      largest = std::max({largest, std::sqrt(x * x + y * y), std::sqrt(v * v + w * w)});
      off = std::max(off, std::sqrt((x - v) * (x - v) + (y - w) * (y - w)));
      now.angle = std::max(now.angle, std::abs(std::atan2(y * v - x * w, x * v + y * w)));
    }
    now.worst = largest == 0 ? 0 : off / largest;
    if (t == 0 || now.worst > result.largest.worst) result.largest = now;
    auto const first = result.matters_from;
    if (now.worst > options.threshold && (!first || std::abs(at[t]) < std::abs(*first)))
      result.matters_from = at[t];
  }
  return result;
}

}  // namespace posenc
