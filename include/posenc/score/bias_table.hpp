// A bias by distance, worked out once for every distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// The biases of `rule` from a table, which costs an addition where key positions are consecutive.
/// The same bits as the rule, up to a product that the compiler fuses. Beyond `longest`, before or
/// after the query, it asks the rule.
///
///     bias_table(kerple_power(learned), heads, 131'072)        once a model
///
/// Memory: 16 bytes a head and distance.
template <class Rule>
class bias_table {
  static_assert(detail::encoding_check<Rule>::passed);
  static_assert((adds_bias_by_distance<Rule> && detail::sites_of<Rule> == 1) ||
                    (!acts_on_scores<Rule> && detail::has_bias<Rule>),
                "posenc: the rule of a bias_table must have double bias(std::size_t head, "
                "std::int64_t distance) const (site 3) and act nowhere else");

 public:
  /// Throws std::invalid_argument unless there is a head, longest is in [0, 2^31], and the rule is
  /// of so many heads, or of more where it may serve fewer.
  bias_table(Rule rule, std::size_t heads, std::int64_t longest)
      : rule_(std::move(rule)), heads_(heads), longest_(longest) {
    detail::require(heads > 0, "bias_table: there must be a head, got 0");
    detail::require(longest >= 0 && longest <= std::int64_t{1} << 31,
                    "bias_table: longest must be in [0, 2^31], got ", longest);
    detail::require_heads("bias_table", rule_, heads);
    biases_.reserve(heads * static_cast<std::size_t>(2 * longest + 1));
    for (std::size_t head = 0; head < heads; ++head) {
      for (auto distance = longest; distance >= -longest; --distance)
        biases_.push_back(rule_.bias(head, distance));
    }
  }

  Rule const& rule() const noexcept { return rule_; }         ///< it is asked beyond longest()
  std::size_t heads() const noexcept { return heads_; }       ///< of queries
  std::int64_t longest() const noexcept { return longest_; }  ///< in tokens, on either side

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const {
    if (distance < -longest_ || distance > longest_) return rule_.bias(head, distance);
    return at_query(head)[-distance];
  }
  /// The same for a row. Throws std::invalid_argument unless the row's head is below heads() and
  /// each key has a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("bias_table", row, heads_);
    if (row.scores.empty()) return;
    auto const distance_of = [&](std::int64_t key) {
      return distance_between(row.query_position, key);
    };
    auto const first = distance_of(row.key_positions.front()),
               last = distance_of(row.key_positions.back());
    if (first > longest_ || last > first || last < -longest_ ||
        !follow_one_another(row.key_positions)) {
      return detail::add_bias(row,
                              [&](std::int64_t key) { return bias(row.head, distance_of(key)); });
    }
    auto const* const biases = at_query(row.head) - first;
    for (std::size_t s = 0; s < row.scores.size(); ++s)
      row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + biases[s]);
  }

 private:
  static bool follow_one_another(positions_view positions) noexcept {
    std::uint64_t breaks = 0;
    for (std::size_t s = 0; s + 1 < positions.size(); ++s) {
      breaks |= static_cast<std::uint64_t>(positions[s + 1]) -
                static_cast<std::uint64_t>(positions[s]) - 1;
    }
    return breaks == 0;
  }

  double const* at_query(std::size_t head) const noexcept {
    return biases_.data() + head * (biases_.size() / heads_) + longest_;
  }

  Rule rule_;
  std::size_t heads_;
  std::int64_t longest_;
  std::vector<double> biases_;  // [heads][key - query, from -longest to longest]
};

}  // namespace posenc
