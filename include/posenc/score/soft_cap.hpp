// Soft-capping: scores stay within a bound, and scores far below it hardly change.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/simd/doubles.hpp"
#include "posenc/simd/exponential.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// score = cap tanh(score / cap), on scores that are scaled already, before the mask. [Gemma 2, 2;
/// Grok-1] Gemma 2 has 50, Grok-1 30. A score that is not finite, as after a mask, stays as it is;
/// the formula would make it -cap, and the key would be seen.
class soft_cap {
 public:
  /// Throws std::invalid_argument unless cap is finite and positive.
  explicit soft_cap(double cap) : cap_(cap) { detail::require_positive("soft_cap", "cap", cap); }

  double cap() const noexcept { return cap_; }  ///< in units of scores
  static constexpr bool is_pointwise = true;    ///< see adjusts_each_score

  /// Site 3. Order is kept, signs are, and |score| becomes no larger, within rounding.
  template <class T>
  void adjust_scores(score_row<T> const& row) const noexcept {
    using registers = detail::lanes<double>;
    using number = typename registers::number;
    detail::change_doubles(row.scores, [cap = number(cap_)](number const& x, std::size_t) {
      auto const capped = cap * detail::hyperbolic_tangent(registers(), x / cap);
      return detail::where_finite(registers(), x, number(capped), x);
    });
  }

  /// Gradients times the slope at the score before, 1 / cosh^2(score / cap); where a score is not
  /// finite, as they are. Throws, before a change, unless there is a gradient for each score.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T>) const {
    detail::require(d_scores.size() == before.scores.size(),
                    "soft_cap: there must be one gradient for each of ", before.scores.size(),
                    " scores, got ", d_scores.size());
    for (std::size_t s = 0; s < d_scores.size(); ++s) {
      auto const x = static_cast<double>(before.scores[s]);
      if (!is_finite(x)) continue;
      auto const e = std::exp(-2 * std::abs(x / cap_));  // 1 - tanh^2 would lose what little there
                                                         // is of a score far beyond the cap
      d_scores[s] =
          static_cast<T>(static_cast<double>(d_scores[s]) * (4 * e / ((1 + e) * (1 + e))));
    }
  }

 private:
  double cap_;
};

static_assert(acts_on_scores<soft_cap> && adjusts_each_score<soft_cap> &&
              pulls_back_scores<soft_cap>);

}}  // namespace posenc
