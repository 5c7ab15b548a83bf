// T5's relative position bias: a learned number for each bucket of distances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Distances in buckets: the first half of them one distance each, the others growing in
/// logarithmic steps up to max_distance; what is farther shares the last one. [Raffel 2020, 2.1;
/// modeling_t5.py, _relative_position_bucket]
///
///     n = buckets, or buckets / 2 on each side; e = n / 2
///     r < e: r;   r >= e: min(n - 1, e + floor((n - e) ln(r / e) / ln(max_distance / e)))
///
/// bidirectional (T5's encoder): keys behind the query, r = query - key, take the first half of the
/// buckets, those before it the second. Otherwise (its decoder) keys before the query count as
/// distance 0. Exact where r / e is a power that ends on a bucket's edge, as code in float is only
/// by luck; kept as an integer table.
class relative_buckets {
 public:
  /// max_distance: in tokens. Throws std::invalid_argument unless each side has two buckets or more
  /// and max_distance is above half of them.
  relative_buckets(std::size_t buckets, std::size_t max_distance, bool bidirectional)
      : sides_(bidirectional ? 2 : 1), last_((buckets - buckets % sides_) / sides_) {
    detail::require(buckets % (2 * sides_) == 0 && last_ >= 2 && buckets <= 65'536,
                    "relative_buckets: buckets must be a multiple of ", 2 * sides_,
                    ", at most 65536 and not 0, got ", buckets);
    auto const exact = last_ / 2;
    detail::require(max_distance > exact && max_distance <= 1 << 24,
                    "relative_buckets: max_distance must be above ", exact,
                    " and at most 2^24, got ", max_distance);
    auto const steps = static_cast<double>(last_ - exact),
               range = std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
    for (std::size_t r = 0; r < max_distance; ++r) {
      auto const step =
          r < exact ? 0
                    : steps * std::log(static_cast<double>(r) / static_cast<double>(exact)) / range;
      auto const nearest = std::round(step);  // an edge, but for the rounding of logarithms
      auto const whole = std::abs(step - nearest) < 1e-9 ? nearest : std::floor(step);
      bucket_of_.push_back(
          r < exact ? r : std::min(last_ - 1, exact + static_cast<std::size_t>(whole)));
    }
  }

  std::size_t count() const noexcept { return sides_ * last_; }  ///< of both sides together

  /// distance: query - key.
  std::size_t operator()(std::int64_t distance) const noexcept {
    bool const is_after = distance < 0;  // the key, of the query
    if (is_after && sides_ == 1) return 0;
    auto const magnitude = static_cast<std::uint64_t>(is_after ? -distance : distance);
    auto const bucket =
        magnitude < bucket_of_.size() ? bucket_of_[static_cast<std::size_t>(magnitude)] : last_ - 1;
    return bucket + (is_after ? last_ : 0);
  }

 private:
  std::size_t sides_, last_;  // last_: how many on a side
  std::vector<std::size_t> bucket_of_;
};

/// score += weights[bucket(query, key)][head]. T5 does not divide scores by sqrt(head_dim).
/// weights: [buckets][heads], as the models store them.
class t5_bias {
 public:
  /// Copies the weights. Throws std::invalid_argument unless there is one a bucket and head, and
  /// all are finite.
  t5_bias(relative_buckets buckets, std::span<float const> weights, std::size_t heads)
      : buckets_(std::move(buckets)), weights_(weights.begin(), weights.end()), heads_(heads) {
    detail::require(
        heads > 0 && weights.size() / heads == buckets_.count() && weights.size() % heads == 0,
        "t5_bias: there must be one weight for each of ", buckets_.count(), " buckets and ", heads,
        " heads, got ", weights.size());
    for (auto const w : weights)
      detail::require(is_finite(static_cast<double>(w)), "t5_bias: weights must be finite, got ",
                      w);
  }

  std::size_t heads() const noexcept { return heads_; }  ///< of queries

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    return static_cast<double>(weights_[buckets_(distance) * heads_ + head]);
  }

 private:
  relative_buckets buckets_;
  std::vector<float> weights_;
  std::size_t heads_;
};

static_assert(acts_on_scores<t5_bias> && adds_bias<t5_bias>);

}  // namespace posenc
