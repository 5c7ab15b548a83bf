// Adaptive temperature: sharpens rows whose entropy grew with their length.
#pragma once

#include <algorithm>
#include <array>

#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// beta = max(P(H), 1) if the entropy H of the row, in nats, exceeds 0.5; otherwise 1.
///
///     P(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791        [Velickovic 2024, 5]
///
/// The published entropy, -sum p ln(p + 1e-9), is computed as H - 1e-9 * keys, which changes beta
/// by at most 3e-9. Preserves order, never raises entropy. P exceeds 1 only for 0.8486 < H
/// < 5.9445; its maximum is 2.4214. A more diffuse row, such as a uniform one over 382 keys or
/// more, is left alone unless told otherwise:
///
///     adaptive_temperature{}                                        as published
///     adaptive_temperature{adaptive_temperature::held_at_maximum}   2.4214 for H above 4.4124
struct adaptive_temperature {
  /// Of P, the highest power first.
  static constexpr std::array coefficients{-0.037, 0.481, -2.3, 4.917, -1.791};
  static constexpr double entropy_gate = 0.5;                     ///< in nats
  static constexpr double entropy_of_maximum = 4.41240186596567;  ///< where P is largest, in nats

  /// P(H).
  static constexpr double published(double entropy) noexcept {
    double polynomial = 0;
    for (auto const c : coefficients) polynomial = polynomial * entropy + c;
    return polynomial;
  }
  /// P(min(H, 4.4124)), which never falls, so that the longest and most diffuse rows are sharpened
  /// too. Not published; extrapolates beyond the range that the coefficients were fitted to.
  static constexpr double held_at_maximum(double entropy) noexcept {
    return published(std::min(entropy, entropy_of_maximum));
  }

  /// beta as a function of H; not null. Other fits go here.
  double (*fit)(double entropy) noexcept = published;

  /// Site 4.
  constexpr double inverse_temperature(row_statistics const& row) const noexcept {
    auto const entropy = row.entropy - 1e-9 * static_cast<double>(row.keys);
    if (!(entropy > entropy_gate)) return 1;
    auto const beta = fit(entropy);
    return beta > 1 ? beta : 1;
  }
};

static_assert(acts_on_softmax<adaptive_temperature>);

}  // namespace posenc
