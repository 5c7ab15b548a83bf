// SSMax: rows are sharpened by the logarithm of how many keys they see.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Scalable softmax without learning: beta = ln n, n being the keys that the row sees, so that n^x stands where e^x did.
/// [Nakanishi 2025, "without scaling parameter"]
/// Below 1, which flattens, for n = 2. A row of one key or none, whose weights no temperature changes, is answered with 1 and not with
/// ln 1 = 0: 0 times a masked score would be NaN.
struct ssmax_without_scale {
  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    return row.keys < 2 ? 1 : std::log(static_cast<double>(row.keys));
  }
};

/// Scalable softmax: beta = s_h ln n + b_h, with scores already divided by sqrt(head_dim). [Nakanishi 2025, 2]
///
///     softmax(x)_i = n^(s x_i) / sum_j n^(s x_j)          where b = 0
///
/// A key whose score is above all others by D keeps its weight, however many there are, if s D > 1: at s = 0.43 and D = 3 it is 0.70 of
/// 16 keys and 0.97 of 131072, where softmax has 0.57 and 0.00015. A factor on scores, not a summand, which softmax would not see.
/// Rows of less than two keys as in ssmax_without_scale. Entropy is raised where beta is below 1.
/// Throws std::invalid_argument unless there is a head, each scale is finite and positive, there are as many biases as scales or none, and
/// beta is finite and positive for two keys, so for more.
class ssmax {
 public:
  /// scales: s, [heads], of one layer; biases: b, [heads].
  explicit ssmax(std::vector<double> scales, std::vector<double> biases = {}) : scales_(std::move(scales)), biases_(std::move(biases)) {
    detail::require(!scales_.empty(), "ssmax: there must be a scale for at least one head, got none");
    if (biases_.empty()) biases_.resize(scales_.size());
    detail::require(biases_.size() == scales_.size(), "ssmax: there must be as many biases as scales, or none, got ", biases_.size(),
                    " biases for ", scales_.size(), " scales");
    for (std::size_t head = 0; head < scales_.size(); ++head) {
      auto const s = scales_[head], b = biases_[head];
      detail::require(is_finite(s) && s > 0, "ssmax: scales must be finite and positive, got ", s, " for head ", head);
      detail::require(is_finite(b) && s * std::log(2.0) + b > 0, "ssmax: biases must be finite and above -scale ln 2, got ", b,
                      " for head ", head);
    }
  }

  std::size_t heads() const noexcept { return scales_.size(); }

  /// Site 4. Throws std::invalid_argument unless the row's head has a scale.
  double inverse_temperature(row_statistics const& row) const {
    detail::require(row.head < heads(), "ssmax: the head must be below ", heads(), ", got ", row.head);
    if (row.keys < 2) return 1;
    return scales_[row.head] * std::log(static_cast<double>(row.keys)) + biases_[row.head];
  }

 private:
  std::vector<double> scales_, biases_;
};

static_assert(acts_on_softmax<ssmax_without_scale> && acts_on_softmax<ssmax>);

}  // namespace posenc
