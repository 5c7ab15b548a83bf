// A bias by distance, worked out once for every distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/encoding_check.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"
#include "posenc/score/add_bias.hpp"

namespace posenc::inline POSENC_TARGET {

/// An encoding of site 3 that adds what depends on nothing but the head and query position - key position.
template <class E>
concept biases_by_distance = adds_bias<E> && std::bool_constant<std::remove_cvref_t<E>::is_by_distance>::value;

/// What `rule` adds, read where it would be computed: the same bits, for the price of an addition where keys stand one after another.
/// Beyond `longest`, to either side, the rule itself is asked.
///
///     bias_table(kerple_power(learned), heads, 131'072)        once a model, for every layer, step and thread
///
/// Memory: 16 bytes a head and distance. Throws std::invalid_argument unless there is a head, longest is in [0, 2^31], and the rule is
/// of so many heads, or of more where it may serve fewer.
template <class Rule>
class bias_table {
  static_assert(detail::encoding_check<Rule>::passed);
  static_assert(
      acts_on_scores<Rule> ? biases_by_distance<Rule> && detail::sites_of<Rule> == 1 : detail::has_adjust_scores<Rule>,
      "posenc: the rule of a bias_table must act on scores (site 3) and nowhere else, and say static constexpr bool is_bias = true and "
      "is_by_distance = true");

 public:
  static constexpr bool is_bias = true;         ///< gradients of scores pass as they are
  static constexpr bool is_by_distance = true;  ///< and so a table of tables is one

  bias_table(Rule rule, std::size_t heads, std::int64_t longest) : rule_(std::move(rule)), heads_(heads), longest_(longest) {
    detail::require(heads > 0, "bias_table: there must be a head, got 0");
    detail::require(longest >= 0 && longest <= std::int64_t{1} << 31, "bias_table: longest must be in [0, 2^31], got ", longest);
    detail::require_heads("bias_table", rule_, heads);
    std::vector<std::int64_t> offsets;
    for (auto offset = -longest; offset <= longest; ++offset) offsets.push_back(offset);
    biases_.resize(heads * offsets.size());
    for (std::size_t head = 0; head < heads; ++head) {
      rule_.adjust_scores(score_row<double>{std::span(biases_).subspan(head * offsets.size(), offsets.size()), head, 0, offsets, {}});
    }
  }

  Rule const& rule() const noexcept { return rule_; }
  std::size_t heads() const noexcept { return heads_; }
  std::int64_t longest() const noexcept { return longest_; }

  /// Site 3. Throws std::invalid_argument unless the row's head is below heads() and each key has a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("bias_table", row, heads_);
    if (row.scores.empty()) return;
    auto const* const of_head = biases_.data() + row.head * (biases_.size() / heads_) + longest_;
    auto const first = row.key_positions.front();
    bool const within = detail::distance(first, row.query_position) <= static_cast<std::uint64_t>(longest_) &&
                        detail::distance(row.key_positions.back(), row.query_position) <= static_cast<std::uint64_t>(longest_);
    if (!within || !follow_one_another(row.key_positions)) return look_up(row, of_head);
    auto const* const biases = of_head + (first - row.query_position);
    for (std::size_t s = 0; s < row.scores.size(); ++s) row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + biases[s]);
  }

 private:
  static bool follow_one_another(positions_view positions) noexcept {
    std::uint64_t breaks = 0;
    for (std::size_t s = 0; s + 1 < positions.size(); ++s) {
      breaks |= static_cast<std::uint64_t>(positions[s + 1]) - static_cast<std::uint64_t>(positions[s]) - 1;
    }
    return breaks == 0;
  }

  template <class T>
  void look_up(score_row<T> const& row, double const* of_head) const {
    for (std::size_t s = 0; s < row.scores.size(); ++s) {
      auto const key = row.key_positions[s];
      if (detail::distance(key, row.query_position) <= static_cast<std::uint64_t>(longest_)) {
        row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + of_head[key - row.query_position]);
      } else {
        rule_.adjust_scores(
            score_row<T>{row.scores.subspan(s, 1), row.head, row.query_position, row.key_positions.subspan(s, 1), row.query});
      }
    }
  }

  Rule rule_;
  std::size_t heads_;
  std::int64_t longest_;
  std::vector<double> biases_;  // [heads][key - query, from -longest to longest]
};

}  // namespace posenc
