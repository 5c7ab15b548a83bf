#include "compare.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "posenc/core/require.hpp"
#include "program/inspect/remarks.hpp"

namespace comparing {
namespace {

void require_options(compare_options const& options) {
  posenc::detail::require_positive("compare", "threshold", options.threshold);
  std::uint64_t const length = options.length.value_or(1);  // of 32 bits: always small enough
  posenc::detail::require(length > 0 && length <= std::uint64_t{1} << 48,
                          "compare: length must be from 1 to 2^48 tokens, got ", length);
}

layer_comparison compare_layers(posenc::layer_description const& a,
                                posenc::layer_description const& b, std::size_t length,
                                double threshold) {
  layer_comparison result{differing_fields(a, b, length), {}, {}};
  if (a.head_dim != b.head_dim || a.head_dim == 0) return result;
  score_matrix const of_a(a, length), of_b(b, length);
  if (of_a == of_b) return result;
  auto const end = static_cast<std::int64_t>(
      std::min(inspect::reach_of(a, length), inspect::reach_of(b, length)));
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

}  // namespace

layer_comparison compare(posenc::layer_description const& a, posenc::layer_description const& b,
                         compare_options const& options) {
  require_options(options);
  return compare_layers(a, b, options.length.value_or(4096), options.threshold);
}

model_comparison compare(posenc::model_description const& a, posenc::model_description const& b,
                         compare_options const& options) {
  require_options(options);
  model_comparison result;
  auto const field = [&](std::string const& name, auto const& x, auto const& y) {
    add_field(result.fields, name, x, y);
  };
  field("type", a.type, b.type);
  field("layers", a.layers, b.layers);
  field("context", a.context, b.context);
  field("embedding", a.embedding, b.embedding);
  auto const shorter = std::min(a.context.value_or(SIZE_MAX), b.context.value_or(SIZE_MAX));
  auto const length = options.length.value_or(shorter == SIZE_MAX ? 4096 : shorter);
  std::map<std::pair<posenc::layer_description const*, posenc::layer_description const*>,
           std::vector<std::size_t>>
      pairs;
  for (std::size_t layer = 0; layer < std::min(a.layers, b.layers); ++layer)
    pairs[{&a.kind_of(layer), &b.kind_of(layer)}].push_back(layer);
  for (auto const& [kinds, layers] : pairs) {
    auto difference = compare_layers(*kinds.first, *kinds.second, length, options.threshold);
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

}  // namespace comparing
