// Precomputed biases: a table by distance; a matrix of an encoding, or of an engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The biases of `rule` from a table, of 16 bytes per head and distance. If key positions are
/// consecutive, a bias costs one addition. Its bits are the rule's, unless the compiler fuses a
/// product of the rule with its sum. Beyond `longest`, on either side, the rule is asked.
///
///     bias_table(kerple_power(learned), heads, 131'072)        once per model
template <class Rule>
class bias_table {
  static_assert(detail::encoding_check<Rule>::passed);
  static_assert((adds_bias_by_distance<Rule> && detail::sites_of<Rule> == 1) ||
                    (!acts_on_scores<Rule> &&
                     (detail::has_bias<Rule> || detail::has_adjust_scores<Rule>)),
                "posenc: the rule of a bias_table must have double bias(std::size_t head, "
                "std::int64_t distance) const (site 3) and act nowhere else");

 public:
  /// Throws std::invalid_argument unless there is a head, longest is in [0, 2^31], and the rule
  /// serves `heads` heads.
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
  /// The same for a row. Throws unless the row's head is below heads() and each key has a position.
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
        !detail::follow_one_another(row.key_positions)) {
      return detail::add_bias(row,
                              [&](std::int64_t key) { return bias(row.head, distance_of(key)); });
    }
    auto const* const biases = at_query(row.head) - first;
    for (std::size_t s = 0; s < row.scores.size(); ++s)
      row.scores[s] = static_cast<T>(static_cast<double>(row.scores[s]) + biases[s]);
  }

 private:
  double const* at_query(std::size_t head) const noexcept {
    return biases_.data() + head * (biases_.size() / heads_) + longest_;
  }

  Rule rule_;
  std::size_t heads_;
  std::int64_t longest_;
  std::vector<double> biases_;  // [heads][key - query, from -longest to longest]
};

/// Writes b(t, s) to memory, [heads][queries][keys], a vector, array or span of float, double, half
/// or bfloat16:
///
///     write_bias_matrix(alibi(8), 8, query_positions, key_positions, memory);
///     auto const b = bias_matrix(alibi(8), 8, query_positions, key_positions);    vector<float>
///
/// Writes the biases of any encoding that adds biases; for a scheme, their sum. They are computed
/// in double, rounded to float and then to the type of the memory; kernels add them after scaling
/// the scores. The mask is not in it. Throws, before anything is written, unless there is a head,
/// memory has one number for each element, and the encoding serves `heads` heads; amid the work,
/// where the encoding refuses a row.
template <class E, class Memory>
void write_bias_matrix(E const& encoding, std::size_t heads, token_positions const& query_positions,
                       token_positions const& key_positions, Memory&& memory) {
  static_assert(detail::encoding_check<E>::passed);
  static_assert(adds_bias<E>,
                "posenc: the encoding of a bias matrix must add biases: it must have bias (site "
                "3), or is_bias beside adjust_scores");
  using T = detail::span_value_t<Memory>;
  std::span<T> const matrix(memory);
  auto const queries = query_positions.size(), keys = key_positions.size(), size = matrix.size();
  detail::require(heads > 0, "write_bias_matrix: there must be a head, got 0");
  detail::require(size % heads == 0 && size / heads == queries * keys,
                  "write_bias_matrix: there must be one number for each of ", heads, " heads, ",
                  queries, " queries and ", keys, " keys, got ", size);
  detail::require_heads("write_bias_matrix", encoding, heads);
  std::vector<double> row(keys);
  auto* to = matrix.data();
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t t = 0; t < queries; ++t) {
      std::ranges::fill(row, 0);
      adjust_scores(encoding,
                    score_row<double>{row, head, query_positions[t], key_positions, {}, t});
      for (auto const bias : row) store(*to++, static_cast<arithmetic_t<T>>(bias));
    }
  }
}

/// The same in new memory.
template <writable T = float, class E>
std::vector<T> bias_matrix(E const& encoding, std::size_t heads,
                           token_positions const& query_positions,
                           token_positions const& key_positions) {
  std::vector<T> matrix(heads * query_positions.size() * key_positions.size());
  write_bias_matrix(encoding, heads, query_positions, key_positions, matrix);
  return matrix;
}

/// score(t, s) += biases[head][t][s], where t and s count the queries and keys of the call, not
/// their positions: what engines call attn_bias or an additive mask.
///
///     attention_bias(numbers, heads, queries, keys)       [heads][queries][keys]
///     attention_bias(numbers, 1, queries, keys)           the same for every head
///
/// The numbers are float, double, half or bfloat16, and are added in double; -infinity hides the
/// key. It views the numbers, which must outlive it. Numbers at strides, booleans, or biases that
/// come after every rule of the scheme: mask::given.
template <storable T>
class attention_bias {
 public:
  static constexpr bool is_bias = true;  ///< as a scheme says it: site 3 only adds

  /// biases: [heads][queries][keys], viewed. Throws unless there is a number for each head, query
  /// and key, and all are finite or -infinity.
  attention_bias(viewed<T> biases, std::size_t heads, std::size_t queries, std::size_t keys)
      : biases_(biases), heads_(heads), queries_(queries), keys_(keys) {
    detail::require(heads > 0, "attention_bias: there must be a head, got 0");
    detail::require(biases.size() % heads == 0 &&
                        (biases.empty() ? queries == 0 || keys == 0
                                        : keys > 0 && biases.size() / heads % keys == 0 &&
                                              biases.size() / heads / keys == queries),
                    "attention_bias: there must be one number for each of ", heads, " heads, ",
                    queries, " queries and ", keys, " keys, got ", biases.size());
    for (auto const& stored : biases) {
      auto const bias = static_cast<double>(load(stored));
      detail::require(is_finite(bias) || detail::is_negative_infinity(bias),
                      "attention_bias: biases must be finite or -infinity, got ", bias);
    }
  }

  /// Any number where one matrix serves all.
  void require_heads(char const* function, std::size_t count) const {
    detail::require(heads_ == 1 || heads_ == count, function, ": the encoding must have ", count,
                    " heads, got ", heads_);
  }

  /// Site 3. Throws, before a change, unless the matrix has the row's head, query and keys.
  template <class S>
  void adjust_scores(score_row<S> const& row) const {
    auto const head = heads_ == 1 ? 0 : row.head;
    detail::require_keys("attention_bias", row);
    detail::require(head < heads_ && row.query_index < queries_ && row.first_key_index <= keys_ &&
                        row.scores.size() <= keys_ - row.first_key_index,
                    "attention_bias: there must be biases [", heads_, "][", queries_, "][", keys_,
                    "] of head ", head, ", query ", row.query_index, " and ", row.scores.size(),
                    " keys from ", row.first_key_index, " on");
    auto const* const biases =
        biases_.data() + (head * queries_ + row.query_index) * keys_ + row.first_key_index;
    for (std::size_t i = 0; i < row.scores.size(); ++i) {
      auto const bias = static_cast<double>(load(biases[i]));
      row.scores[i] = detail::is_negative_infinity(bias)
                          ? detail::negative_infinity<S>
                          : static_cast<S>(static_cast<double>(row.scores[i]) + bias);
    }
  }

 private:
  std::span<T const> biases_;
  std::size_t heads_, queries_, keys_;
};

template <class Numbers>
attention_bias(Numbers const&, std::size_t, std::size_t, std::size_t)
    -> attention_bias<typename Numbers::value_type>;

static_assert(acts_on_scores<attention_bias<float>> && adds_bias<attention_bias<float>>);

}}  // namespace posenc
