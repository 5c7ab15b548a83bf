// The Forgetting Transformer: tokens between a key and a query may make the query forget the key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// score(t, s) += ln f_(s+1) + ... + ln f_t, on scores that are scaled already; f_l in (0, 1] is
/// the forget gate of the token at l, sigmoid(<w_h, x_l> + b_h) in the model. [Lin 2025, 3: D_ts]
/// Kept as prefix sums c of each head, so that a bias is c_t - c_s: right within (l + 1) 2^-52
/// |c_l|, l the query's token. The first gate has no effect: no key is before it. Causal: scores of
/// keys after the query are left alone, unless there are gates for these too, g:
/// score(t, s) += ln g_(t+1) + ... + ln g_s for s > t. [x-transformers, DataDependentAlibi]
///
///     forget_gates(log_gates, heads)      of one sequence
///     forget_gates(log_f, log_g, heads)   in both directions
///     forget_gates(heads)                 of any: attention_options::key_side has the gates
class forget_gates {
 public:
  /// log_gates: ln f, [tokens][heads], of the tokens at first_position, first_position + 1, ...
  /// Throws std::invalid_argument unless there are as many gates as heads for each token, and their
  /// logarithms are finite and at most 0.
  forget_gates(std::span<float const> log_gates, std::size_t heads, std::int64_t first_position = 0)
      : heads_(heads), first_position_(first_position) {
    sums_ = prefix_sums(log_gates, heads);
    tokens_ = log_gates.size() / heads;
  }

  /// In both directions: log_f, ln f, for keys before the query, log_g, ln g, for keys after it.
  /// Throws as above for each, and unless both have as many.
  forget_gates(std::span<float const> log_f, std::span<float const> log_g, std::size_t heads,
               std::int64_t first_position = 0)
      : forget_gates(log_f, heads, first_position) {
    detail::require(log_g.size() == log_f.size(),
                    "forget_gates: there must be as many gates for keys after the query as for "
                    "keys before it, ",
                    log_f.size(), ", got ", log_g.size());
    later_sums_ = prefix_sums(log_g, heads);
  }

  /// From gates that each call gives beside its keys, [keys][heads][1], ln f: one object serves
  /// every sequence. Sums run from the query back to the key. Throws unless heads is above 0.
  explicit forget_gates(std::size_t heads)
      : heads_(heads), first_position_(0), are_beside_keys_(true) {
    detail::require(heads > 0, "forget_gates: heads must be above 0, got 0");
  }

  std::size_t heads() const noexcept { return heads_; }  ///< of queries
  /// How many have gates; 0 if each call gives them.
  std::size_t tokens() const noexcept { return tokens_; }
  /// Whether keys after the query have separate gates.
  bool is_bidirectional() const noexcept { return !later_sums_.empty(); }

  /// Site 3: what is added to a score. Throws unless there is a gate at both positions, for a key
  /// after the query only in both directions; there is none where the call gives them.
  /// Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t query_position, std::int64_t key_position) const {
    require_gate("query", query_position);
    if (has_gates_for(query_position, key_position)) require_gate("key", key_position);
    return between(head, query_position, key_position);
  }
  /// The same for a row; one without keys needs no gate. Throws, before anything is changed, as
  /// bias does and unless the row's head has gates and each key a position; where the call gives
  /// the gates, unless the keys up to the query ascend by position and the last of them is at its
  /// position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("forget_gates", row, heads_);
    if (row.scores.empty()) return;
    if (are_beside_keys_) return add_sums_of(row.key_side, row);
    require_gate("query", row.query_position);
    for (auto const key_position : row.key_positions) {
      if (has_gates_for(row.query_position, key_position)) require_gate("key", key_position);
    }
    detail::add_bias(row, [&](std::int64_t key_position) {
      return between(row.head, row.query_position, key_position);
    });
  }

 private:
  static std::vector<double> prefix_sums(std::span<float const> log_gates, std::size_t heads) {
    detail::require(heads > 0 && log_gates.size() % heads == 0,
                    "forget_gates: there must be one gate for each token and each of ", heads,
                    " heads, got ", log_gates.size());
    auto const tokens = log_gates.size() / heads;
    std::vector<double> sums(log_gates.size());
    for (std::size_t i = 0; i < log_gates.size(); ++i) {
      auto const token = i / heads, at = i % heads * tokens + token;
      auto const g = static_cast<double>(log_gates[i]);
      require_logarithm(g, "token", token);
      sums[at] = (token == 0 ? 0 : sums[at - 1]) + g;
    }
    return sums;
  }

  template <class T>
  static void add_sums_of(heads_view<float const> const& gates, score_row<T> const& row) {
    detail::require(gates.tokens() == row.scores.size() && gates.head_dim() == 1,
                    "forget_gates: key_side must have one gate per key and head, got ",
                    gates.tokens(), " tokens of ", gates.head_dim(), " for ", row.scores.size(),
                    " keys");
    auto const& at = row.key_positions;
    std::size_t seen = 0;
    for (std::size_t s = 0; s < row.scores.size(); ++s) {
      if (at[s] > row.query_position) continue;
      detail::require(s == 0 || at[s - 1] < at[s],
                      "forget_gates: the positions of keys must ascend, got ", at[s], " after ",
                      at[s == 0 ? 0 : s - 1]);
      require_logarithm(static_cast<double>(gates(s, 0)[0]), "the key at", at[s]);
      seen = s + 1;
    }
    detail::require(seen > 0 && at[seen - 1] == row.query_position,
                    "forget_gates: there must be a key at the query's position ",
                    row.query_position, ", got none");
    double sum = 0;
    for (std::size_t s = seen; s-- > 0;) {
      row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + sum);
      sum += static_cast<double>(gates(s, 0)[0]);
    }
  }

  static void require_logarithm(double g, char const* whose, auto where) {
    detail::require(is_finite(g) && g <= 0,
                    "forget_gates: the logarithms of gates must be finite and at most 0, got ", g,
                    " for ", whose, " ", where);
  }

  // A position before the first wraps to an index far beyond the last.
  std::uint64_t index(std::int64_t position) const noexcept {
    return static_cast<std::uint64_t>(position) - static_cast<std::uint64_t>(first_position_);
  }

  bool has_gates_for(std::int64_t query, std::int64_t key) const noexcept {
    return key <= query || is_bidirectional();
  }

  // The sum of the gates after one position and up to the other; 0 if no gate is asked.
  double between(std::size_t head, std::int64_t query, std::int64_t key) const noexcept {
    if (key == query || !has_gates_for(query, key)) return 0;
    auto const* const sums = (key < query ? sums_ : later_sums_).data() + head * tokens_;
    auto const a = sums[index(std::max(query, key))], b = sums[index(std::min(query, key))];
    return detail::stored(a - b);  // a score could not be added to one of the large sums lossless
  }

  void require_gate(char const* whose, std::int64_t position) const {
    detail::require(index(position) < tokens_, "forget_gates: the position of the ", whose,
                    " must be one of ", tokens_, " from ", first_position_, " on, got ", position);
  }

  std::vector<double> sums_, later_sums_;  // [heads][tokens]; empty: in one direction
  std::size_t heads_, tokens_ = 0;
  std::int64_t first_position_;
  bool are_beside_keys_ = false;
};

static_assert(acts_on_scores<forget_gates> && adds_bias<forget_gates>);

}}  // namespace posenc
