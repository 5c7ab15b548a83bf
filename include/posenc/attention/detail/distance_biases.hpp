// Site 3 of a step: a bias by distance is computed once for every distance that occurs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The distances of a step, [nearest, farthest]; negative for keys after the query.
struct distance_range {
  std::int64_t nearest = 0, farthest = -1;

  bool empty() const noexcept { return farthest < nearest; }
  bool covers(distance_range const& other) const noexcept {
    return other.empty() || (nearest <= other.nearest && other.farthest <= farthest);
  }

  /// Half as many distances again, beyond the farthest; if there are keys after the query, beyond
  /// the nearest too.
  distance_range and_half_again() const noexcept {
    constexpr auto limit = std::numeric_limits<std::int64_t>::max();
    auto const half = empty() ? 0 : (farthest - nearest) / 2;
    return {nearest < 0 ? std::max(nearest, half - limit) - half : nearest,
            std::min(farthest, limit - half) + half};
  }
};

/// The distances between queries and keys; empty if a table would have more than four for each
/// token.
inline distance_range distances_of(position_list const& queries, position_list const& keys) {
  if (queries.size() == 0 || keys.size() == 0) return {};
  auto const [first_query, last_query] = queries.limits();
  auto const [first_key, last_key] = keys.limits();
  distance_range const range{distance_between(first_query, last_key),
                             distance_between(last_query, first_key)};
  auto const count =
      static_cast<std::uint64_t>(range.farthest) - static_cast<std::uint64_t>(range.nearest);
  return count <= 4 * (queries.size() + keys.size()) ? range : distance_range();
}

/// Applies an encoding at site 3 of a step. A bias by distance is looked up: the same bits as the
/// rule, up to a product that the compiler fuses.
template <class E>
class step_scores {
  static constexpr bool looks_up = adds_bias_by_distance<E> && !adjusts_scores<E> && knows_heads<E>;

 public:
  bool covers(distance_range const& range) const noexcept {
    return !looks_up || covered_.covers(range);
  }

  /// Computes only the distances that are not covered yet.
  void cover(E const& e, distance_range const& range) {
    if (covers(range)) return;
    if constexpr (looks_up) {
      std::vector<std::vector<double>> biases(e.heads());
      for (std::size_t head = 0; head < biases.size(); ++head) {
        for (auto distance = range.farthest; distance >= range.nearest; --distance) {
          biases[head].push_back(covered_.covers({distance, distance})
                                     ? *find(head, distance)
                                     : static_cast<double>(e.bias(head, distance)));
        }
      }
      biases_ = std::move(biases);
      covered_ = range;
    }
  }

  template <class T>
  void adjust(E const& e, score_row<T> const& row) const {
    if constexpr (looks_up) {
      require_row("attention", row, e.heads());
      if (row.scores.empty()) return;
      auto const first = distance_between(row.query_position, row.key_positions.front());
      auto const last = distance_between(row.query_position, row.key_positions.back());
      // Beyond an end of int64, distances saturate: there are fewer of them than keys.
      auto const farther = static_cast<std::uint64_t>(first) - static_cast<std::uint64_t>(last);
      if (last <= first && farther == row.scores.size() - 1 && covered_.covers({last, first}) &&
          follow_one_another(row.key_positions)) {
        auto const* const biases = find(row.head, first);
        for (std::size_t s = 0; s < row.scores.size(); ++s)
          row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + biases[s]);
        return;
      }
    }
    if constexpr (acts_on_scores<E>) adjust_scores(e, row);
  }

 private:
  // The bias at a distance that is covered; those at nearer distances come after it.
  double const* find(std::size_t head, std::int64_t distance) const noexcept {
    return biases_[head].data() + (covered_.farthest - distance);
  }

  distance_range covered_;
  std::vector<std::vector<double>> biases_;  // [heads][distances, the farthest first]
};

/// Those of a scheme, one after the other.
template <class... Es>
class step_scores<scheme<Es...>> {
 public:
  bool covers(distance_range const& range) const noexcept {
    return std::apply([&](auto const&... each) { return (each.covers(range) && ...); }, scores_);
  }
  void cover(scheme<Es...> const& e, distance_range const& range) {
    for_each(scores_, e, [&](auto& scores, auto const& one) { scores.cover(one, range); });
  }
  template <class T>
  void adjust(scheme<Es...> const& e, score_row<T> const& row) const {
    for_each(scores_, e, [&](auto& scores, auto const& one) { scores.adjust(one, row); });
  }

 private:
  static void for_each(auto& all, scheme<Es...> const& e, auto const& act) {
    std::apply(
        [&](auto&... scores) {
          std::apply([&](auto const&... one) { (act(scores, one), ...); }, e.encodings());
        },
        all);
  }

  std::tuple<step_scores<std::remove_cvref_t<Es>>...> scores_;
};

}}}  // namespace posenc::detail
