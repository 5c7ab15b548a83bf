// Biases that exist already, as a matrix.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/score_row.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// score(t, s) += biases[head][t][s], where t and s count the queries and keys of the call, not
/// their positions: what engines call attn_bias or an additive mask. bias_matrix makes one of an
/// encoding.
///
///     attention_bias(numbers, heads, queries, keys)       [heads][queries][keys]
///     attention_bias(numbers, 1, queries, keys)           the same for every head
///
/// Of float, double, half or bfloat16, added in double. It views the numbers, which must outlive
/// it. Infinities are no biases: what is hidden is the mask's to say.
template <storable T>
class attention_bias {
 public:
  static constexpr bool is_bias = true;  ///< as a scheme says it: site 3 only adds

  /// biases: [heads][queries][keys], viewed. Throws std::invalid_argument unless there is a number
  /// for each head, query and key, and all are finite.
  attention_bias(std::span<T const> biases, std::size_t heads, std::size_t queries,
                 std::size_t keys)
      : biases_(biases), heads_(heads), queries_(queries), keys_(keys) {
    detail::require(heads > 0, "attention_bias: there must be a head, got 0");
    detail::require(biases.size() % heads == 0 &&
                        (biases.empty() ? queries == 0 || keys == 0
                                        : keys > 0 && biases.size() / heads % keys == 0 &&
                                              biases.size() / heads / keys == queries),
                    "attention_bias: there must be one number for each of ", heads, " heads, ",
                    queries, " queries and ", keys, " keys, got ", biases.size());
    for (auto const& bias : biases) {
      detail::require(is_finite(static_cast<double>(load(bias))),
                      "attention_bias: biases must be finite, got ",
                      static_cast<double>(load(bias)), "; hide keys by a mask");
    }
  }

  /// Any number where one matrix serves all.
  void require_heads(char const* function, std::size_t count) const {
    detail::require(heads_ == 1 || heads_ == count, function, ": the encoding must have ", count,
                    " heads, got ", heads_);
  }

  /// Site 3. Throws std::invalid_argument, before anything is changed, unless the matrix has the
  /// row's head, query and keys.
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
      row.scores[i] =
          static_cast<S>(static_cast<double>(row.scores[i]) + static_cast<double>(load(biases[i])));
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

}  // namespace posenc
