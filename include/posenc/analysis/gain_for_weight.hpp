// By how much scores must grow for softmax to give one key a weight.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

inline void require_weight(char const* function, double weight) {
  require(is_finite(weight) && weight > 0 && weight < 1, function,
          ": weight must be in (0, 1), got ", weight);
}

}  // namespace detail

/// The smallest gain >= 0 for which softmax(gain * scores) gives the target the weight:
///
///     sum_{s != target} e^(-gain (score_target - score_s)) = (1 - weight) / weight
///
/// It multiplies the product of the norms of query and key, or the inverse temperature. None if no
/// gain does: another key scores more than the target, or as many score as much as forbid the
/// weight. Relative error: 1e-13, and the error of the differences of scores. Time: about 10
/// exponentials a score. Throws std::invalid_argument unless the target is among the scores, these
/// are finite, and the weight is in (0, 1).
inline std::optional<double> gain_for_weight(list_view<double> scores, std::size_t target,
                                             double weight) {
  detail::require(target < scores.size(), "gain_for_weight: the target must be one of the ",
                  scores.size(), " scores, got ", target);
  detail::require_weight("gain_for_weight", weight);
  std::size_t equals = 0, above = 0;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    detail::require(is_finite(scores[s]), "gain_for_weight: scores must be finite, got ", scores[s],
                    " at key ", s);
    equals += s != target && scores[s] == scores[target];
    above += scores[s] > scores[target];
  }
  auto const others = static_cast<double>(scores.size() - 1), odds = (1 - weight) / weight;
  if (others <= odds) return 0;
  if (above > 0 || static_cast<double>(equals) >= odds) return {};

  // Newton's method on the logarithm of the sum, which is convex and falls: from 0 it rises to the
  // solution and never beyond it.
  auto gain = 0.0;
  for (int i = 0; i < 1000; ++i) {
    double sum = 0, slope = 0;
    for (std::size_t s = 0; s < scores.size(); ++s) {
      if (s == target) continue;
      auto const less = scores[target] - scores[s], e = std::exp(-gain * less);
      sum += e;
      slope += less * e;
    }
    auto const next = gain + std::log(sum / odds) * (sum / slope);
    if (!(next > gain * (1 + 0x1p-50))) break;
    gain = next;
  }
  return gain;
}

}}  // namespace posenc
