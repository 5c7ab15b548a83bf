// The same inverse temperature for every row.
#pragma once

#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// softmax(beta * row) for every row: beta above 1 sharpens, below 1 flattens, 1 changes nothing.
/// Preserves order; the entropy H falls as beta grows, dH/dbeta = -beta Var_p(row). [Velickovic
/// 2024, Proposition 3.2]
class constant_temperature {
 public:
  /// Throws std::invalid_argument unless beta is finite and positive.
  explicit constexpr constant_temperature(double beta) : beta_(beta) {
    detail::require(is_finite(beta) && beta > 0,
                    "constant_temperature: beta must be finite and positive, got ", beta);
  }

  /// Site 4.
  constexpr double inverse_temperature(row_statistics const&) const noexcept { return beta_; }

 private:
  double beta_;
};

static_assert(acts_on_softmax<constant_temperature>);

}  // namespace posenc
