// Which settings of two models or layers differ, and the first distance at which scores do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "posenc/analysis/compare/fields.hpp"
#include "posenc/analysis/compare/score_matrix.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Which differences matter.
struct compare_options {
  /// A difference of scores matters above this, relative to the largest score of queries and keys
  /// of that length, |q| |k|. 2^-8 is half a unit in the last place of bfloat16, which has 8
  /// significant bits: below it a score may stay what it was.
  double threshold = 0x1p-8;
  /// Tokens of the sequence, for dynamic_ntk and longrope, and as the end of distances; without,
  /// the smaller context of two models, or 4096.
  std::optional<std::size_t> length = {};
};

/// What differs between two layers.
struct layer_comparison {
  std::vector<field_difference> fields;  ///< empty: the layers encode positions alike
  /// A distance at which `worst` exceeds the threshold and at the distance before does not: the
  /// first one, if `worst` grows up to it. Nothing if `worst` exceeds it at no distance of
  /// `scores`.
  std::optional<std::int64_t> matters_from = {};
  /// At 0, 1, 2, 4, 8 ..., at matters_from, and at the end of the reach of both layers: the smaller
  /// window, chunk or length. Empty if nothing differs in rotation or factor.
  std::vector<score_difference> scores = {};
};

/// Layers of which the same is to say.
struct compared_layers {
  std::vector<std::size_t> layers;  ///< their indices, from 0
  layer_comparison difference;      ///< the same for each of them
};

/// What differs between two models.
struct model_comparison {
  std::vector<field_difference> fields;  ///< of the models: type, layers, context, embedding
  std::vector<compared_layers> layers;   ///< those that differ
  std::size_t equal_layers = 0;          ///< how many do not
};

namespace detail {

inline void require_options(compare_options const& options) {
  require_positive("compare", "threshold", options.threshold);
  std::uint64_t const length = options.length.value_or(1);  // of 32 bits: always small enough
  require(length > 0 && length <= std::uint64_t{1} << 48,
          "compare: length must be from 1 to 2^48 tokens, got ", length);
}

inline std::size_t reach_of(layer_description const& layer, std::size_t length) {
  return std::min({length, layer.window.value_or(length), layer.chunk.value_or(length)});
}

inline layer_comparison compare_layers(layer_description const& a, layer_description const& b,
                                       std::size_t length, double threshold) {
  layer_comparison result{differing_fields(a, b, length), {}, {}};
  if (a.head_dim != b.head_dim || a.head_dim == 0) return result;
  score_matrix const of_a(a, length), of_b(b, length);
  if (of_a == of_b) return result;
  auto const end = static_cast<std::int64_t>(std::min(reach_of(a, length), reach_of(b, length)));
  std::set<std::int64_t> distances{0, end - 1};
  for (std::int64_t r = 1; r < end; r *= 2) distances.insert(r);
  for (auto const r : distances) result.scores.push_back(difference_at(r, of_a, of_b));
  auto const above = [&](score_difference const& x) { return x.worst > threshold; };
  auto const first = std::ranges::find_if(result.scores, above);
  if (first == result.scores.end()) return result;
  auto found = *first,
       below = first == result.scores.begin() ? score_difference{-1, {}, 0, 0} : *std::prev(first);
  while (found.distance - below.distance > 1) {
    auto const between = difference_at(std::midpoint(below.distance, found.distance), of_a, of_b);
    (above(between) ? found : below) = between;
  }
  result.matters_from = found.distance;
  if (found.distance != first->distance) result.scores.insert(first, found);
  return result;
}

}  // namespace detail

/// Two layers: which settings differ, from which distance on scores of rotated queries and keys
/// differ by more than a threshold, and by how much.
///
///     auto const difference = compare(a.kind_of(3), b.kind_of(3), {.length = 131'072});
///     difference.matters_from;             // 2: at distance 2 a score may be off by 2^-8
///     difference.scores.back().worst;      // 2: what it can be off by at the last distance
///
/// Positions are those of text: all axes have the same. Layers of different head_dim have no
/// scores. Throws std::invalid_argument unless threshold is positive and length from 1 to 2^48.
inline layer_comparison compare(layer_description const& a, layer_description const& b,
                                compare_options const& options = {}) {
  detail::require_options(options);
  return detail::compare_layers(a, b, options.length.value_or(4096), options.threshold);
}

/// Two models, layer by layer, as many as both have; those in which the same pair of kinds meets
/// are together. Throws as for layers.
inline model_comparison compare(model_description const& a, model_description const& b,
                                compare_options const& options = {}) {
  detail::require_options(options);
  model_comparison result;
  auto const field = [&](std::string const& name, auto const& x, auto const& y) {
    detail::add_field(result.fields, name, x, y);
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

}  // namespace posenc
