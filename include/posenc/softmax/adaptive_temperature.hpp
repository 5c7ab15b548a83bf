// Adaptive temperature: sharpens rows whose entropy grew with their length.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// beta = max(P(H), 1) if the entropy H of the row, in nats, exceeds 0.5; otherwise 1.
///
///     P(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791        [Velickovic 2024, 5]
///
/// The published entropy, -sum p ln(p + 1e-9) = H - sum p ln(1 + 1e-9 / p), is below H by 1e-9 for
/// each key whose weight p is far above 1e-9, and by nothing for one far below. H - 1e-9 keys is
/// computed, which needs no second pass. As x - x^2 / 2 <= ln(1 + x) <= x,
///
///     0 <= H_published - (H - 1e-9 keys) <= 1e-9 sum_s min(1, 5e-10 / p_s) <= 1e-9 keys
///
/// and |P'| <= 2.53 where P exceeds 1. So beta is within 3e-9 of the published one where each
/// weight is at least 5e-10 keys, as in a uniform row of up to 44,000 keys; within 2.6e-6 for any
/// 1,000 keys, and within 2.6e-3 for any million: 2.5e-3 off where 379 of them have all the weight.
///
/// Preserves order, never raises entropy. P exceeds 1 only for 0.8486 < H < 5.9445; its maximum is
/// 2.4214. A more diffuse row, such as a uniform one over 382 keys or more, is left alone unless
/// told otherwise:
///
///     adaptive_temperature{}                          as published
///     adaptive_temperature{.highest = adaptive_temperature::entropy_of_maximum}
///                                                     held at 2.4214 for H above 4.4124
///
/// The coefficients are of one trained network; fit_adaptive_temperature makes others from samples.
struct adaptive_temperature {
  static constexpr double entropy_gate = 0.5;                     ///< in nats
  static constexpr double entropy_of_maximum = 4.41240186596567;  ///< of the published P, in nats

  /// The coefficients of P, the highest power first. Finite.
  std::array<double, 5> coefficients{-0.037, 0.481, -2.3, 4.917, -1.791};
  /// Between these entropies P counts, in nats; below and above it keeps its value at the nearer.
  double lowest = 0;
  double highest = std::numeric_limits<double>::max();  ///< see lowest

  /// P(H), with H between lowest and highest.
  constexpr double polynomial(double entropy) const noexcept {
    auto const h = std::clamp(entropy, lowest, highest);
    double sum = 0;
    for (auto const c : coefficients) sum = sum * h + c;
    return sum;
  }

  /// Site 4.
  constexpr double inverse_temperature(row_statistics const& row) const noexcept {
    auto const entropy = row.entropy - 1e-9 * static_cast<double>(row.keys);
    if (!(entropy > entropy_gate)) return 1;
    auto const beta = polynomial(entropy);
    return beta > 1 ? beta : 1;
  }
};

static_assert(acts_on_softmax<adaptive_temperature>);

}}  // namespace posenc
