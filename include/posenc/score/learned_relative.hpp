// A learned number for each distance up to a bound, and one for all beyond it, on either side of
// the query.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// score(t, s) += weights[k + clip(t - s, -k, k)][head], k = max_distance, on scores that are
/// scaled already. [clipping: Shaw 2018, 3.2; a number instead of a vector for each distance: Swin,
/// Liu 2021, 3.2]
///
///     row   0 ... k - 1             k              k + 1 ... 2k
///           keys after the query    its own place  earlier keys, the last row from k before it on
///
/// Rows count query - key, as Swin's; a table that counts key - query, as Shaw's, has its rows the
/// other way round. weights: [2 k + 1][heads].
class learned_relative {
 public:
  /// max_distance: k, in tokens. Throws std::invalid_argument unless there are (2 k + 1) heads
  /// weights, and all are finite.
  learned_relative(std::span<float const> weights, std::size_t heads, std::size_t max_distance)
      : weights_(weights.begin(), weights.end()), heads_(heads), max_distance_(max_distance) {
    detail::require(max_distance <= std::size_t{1} << 24,
                    "learned_relative: max_distance must be at most 2^24, got ", max_distance);
    auto const rows = 2 * max_distance + 1;
    detail::require(heads > 0 && weights.size() / heads == rows && weights.size() % heads == 0,
                    "learned_relative: there must be one weight for each of ", rows,
                    " distances and ", heads, " heads, got ", weights.size());
    detail::require_finite("learned_relative: weights", weights, " in row ", heads);
  }

  std::size_t heads() const noexcept { return heads_; }                ///< of queries
  std::size_t max_distance() const noexcept { return max_distance_; }  ///< k, in tokens

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    auto const farthest = static_cast<std::int64_t>(max_distance_);
    auto const row = static_cast<std::size_t>(std::clamp(distance, -farthest, farthest) + farthest);
    return static_cast<double>(weights_[row * heads_ + head]);
  }

 private:
  std::vector<float> weights_;
  std::size_t heads_, max_distance_;
};

static_assert(acts_on_scores<learned_relative> && adds_bias<learned_relative>);

}  // namespace posenc
