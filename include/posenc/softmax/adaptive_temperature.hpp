// Adaptive temperature: rows whose entropy has grown with their length are sharpened.
#pragma once

#include <algorithm>
#include <array>

#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// beta = max(P(H), 1) where the entropy H of the row, in nats, exceeds 0.5; otherwise 1.
///
///     P(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791        [Velickovic 2024, 5]
///
/// The published entropy is -sum p ln(p + 1e-9): where every p is far above 1e-9 that is 1e-9 a key below H, and so it is taken here;
/// smaller weights count less there, by 1e-9 each at most, which moves beta by 3e-9 at most. Order is kept, entropy never raised.
/// Worth knowing: P exceeds 1 only for 0.8486 < H < 5.9445, with 2.4214 at most. A row more diffuse than that, such as a uniform one
/// over 382 keys or more, is left as it is, unless told otherwise:
///
///     adaptive_temperature{}                                          as published
///     adaptive_temperature{adaptive_temperature::held_at_maximum}     2.4214 for every H above 4.4124
struct adaptive_temperature {
  static constexpr std::array coefficients{-0.037, 0.481, -2.3, 4.917, -1.791};  ///< from the highest power down
  static constexpr double entropy_gate = 0.5;
  static constexpr double entropy_of_maximum = 4.41240186596567;  ///< where P is largest, in nats

  /// P(H).
  static constexpr double published(double entropy) noexcept {
    double polynomial = 0;
    for (auto const c : coefficients) polynomial = polynomial * entropy + c;
    return polynomial;
  }
  /// P(min(H, 4.4124)): never falls, so that the longest and most diffuse rows are helped too. Not published, and beyond what the
  /// coefficients were fitted to.
  static constexpr double held_at_maximum(double entropy) noexcept { return published(std::min(entropy, entropy_of_maximum)); }

  double (*fit)(double entropy) noexcept = published;  ///< beta by H, where above 1; not null. A task's own fit goes here

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
