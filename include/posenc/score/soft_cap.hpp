// Soft-capping: no score gets beyond a bound, and those far below it stay what they are.
#pragma once

#include <cmath>

#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"

namespace posenc {

/// score = cap tanh(score / cap), on scores that are scaled already, before the mask. [Gemma 2, 2; Grok-1]
/// Gemma 2 has 50, Grok-1 30. Looks at no position; of several encodings at this site, the order is theirs in the scheme.
/// A mask that is there already stays: what is not finite is left as it is, where the formula would make -cap of minus infinity and so
/// let the key be seen.
/// Throws std::invalid_argument unless cap is finite and positive.
class soft_cap {
 public:
  explicit soft_cap(double cap) : cap_(cap) {
    detail::require(is_finite(cap) && cap > 0, "soft_cap: cap must be finite and positive, got ", cap);
  }

  double cap() const noexcept { return cap_; }

  /// Site 3. Order is kept, signs are, and |score| becomes no larger, within rounding.
  template <class T>
  void adjust_scores(score_row<T> const& row) const noexcept {
    for (auto& score : row.scores) {
      auto const x = static_cast<double>(score);
      if (is_finite(x)) score = static_cast<T>(cap_ * std::tanh(x / cap_));
    }
  }

 private:
  double cap_;
};

static_assert(acts_on_scores<soft_cap>);

}  // namespace posenc
