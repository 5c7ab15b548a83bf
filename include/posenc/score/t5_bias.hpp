// Learned numbers for buckets of distances, as T5's (DeBERTa's buckets too), or for each distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// steps ln(r / first) / ln(last / first); a whole number where only rounding keeps it from one.
inline double log_step(std::size_t steps, std::size_t r, std::size_t first, std::size_t last) {
  auto const ln = [&](std::size_t x) {
    return std::log(static_cast<double>(x) / static_cast<double>(first));
  };
  auto const step = static_cast<double>(steps) * ln(r) / ln(last), nearest = std::round(step);
  return std::abs(step - nearest) < 1e-9 ? nearest : step;
}

}  // namespace detail

/// Distances in buckets: the first half of them one distance each, the others growing in
/// logarithmic steps up to max_distance; what is farther shares the last one. [Raffel 2020, 2.1;
/// modeling_t5.py, _relative_position_bucket]
///
///     n = buckets, or buckets / 2 on each side; e = n / 2
///     r < e: r;   r >= e: min(n - 1, e + floor((n - e) ln(r / e) / ln(max_distance / e)))
///
/// bidirectional (T5's encoder): earlier keys, r = query - key, take the first half of the buckets,
/// later keys the second. Otherwise (its decoder) later keys count as distance 0.
/// Exact on a bucket's edge, as code in float is only by luck; kept as an integer table.
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
    for (std::size_t r = 0; r < max_distance; ++r) {
      bucket_of_.push_back(
          r < exact ? r
                    : std::min(last_ - 1, exact + static_cast<std::size_t>(detail::log_step(
                                                      last_ - exact, r, exact, max_distance))));
    }
  }

  std::size_t count() const noexcept { return sides_ * last_; }  ///< of both sides together

  /// distance: query - key.
  std::size_t operator()(std::int64_t distance) const noexcept {
    bool const is_after = distance < 0;  // the key, of the query
    if (is_after && sides_ == 1) return 0;
    auto const whole = static_cast<std::uint64_t>(distance);
    auto const magnitude = is_after ? 0 - whole : whole;  // the least distance has no opposite
    auto const bucket =
        magnitude < bucket_of_.size() ? bucket_of_[static_cast<std::size_t>(magnitude)] : last_ - 1;
    return bucket + (is_after ? last_ : 0);
  }

 private:
  std::size_t sides_, last_;  // last_: how many on a side
  std::vector<std::size_t> bucket_of_;
};

/// The row of a table of 2 `buckets` relative positions for a distance: buckets + b, clipped to the
/// table. [DeBERTa V3, make_log_bucket_position of modeling_deberta_v2.py; He 2021]
///
///     m = buckets / 2;   |b| = |distance|                                        up to m
///                        |b| = m + ceil((m - 1) ln(|distance| / m) / ln((max_position - 1) / m))
///
/// with the sign of the distance. Keys before the query have distances above 0 and the later rows:
///
///     deberta_buckets const rows(256, 512);
///     score += <q_t, P_k[rows(t - s)]> + <k_s, P_q[rows(t - s)]>;   P_k, P_q: [512][head_dim]
///
/// where the code clips -(s - t) for the second term. Exact, kept as an integer table.
class deberta_buckets {
 public:
  /// max_position: in tokens. Throws unless buckets is even, from 4 to 65536, and max_position
  /// above buckets / 2 + 1 and at most 2^24.
  deberta_buckets(std::size_t buckets, std::size_t max_position) : buckets_(buckets) {
    detail::require(buckets >= 4 && buckets % 2 == 0 && buckets <= 65'536,
                    "deberta_buckets: buckets must be even and from 4 to 65536, got ", buckets);
    auto const half = buckets / 2;
    detail::require(max_position > half + 1 && max_position <= std::size_t{1} << 24,
                    "deberta_buckets: max_position must be above ", half + 1,
                    " and at most 2^24, got ", max_position);
    for (std::size_t r = 0; r < max_position; ++r) {
      auto const steps =
          r <= half ? 0 : std::ceil(detail::log_step(half - 1, r, half, max_position - 1));
      bucket_of_.push_back(std::min(r, half) + static_cast<std::size_t>(steps));
    }
  }

  /// Rows of the table.
  std::size_t count() const noexcept { return 2 * buckets_; }

  /// distance: query - key.
  std::size_t operator()(std::int64_t distance) const noexcept {
    auto const wrapped = static_cast<std::uint64_t>(distance),
               magnitude = std::min(wrapped, 0 - wrapped);
    auto const bucket =
        magnitude < bucket_of_.size() ? bucket_of_[static_cast<std::size_t>(magnitude)] : buckets_;
    return distance < 0 ? buckets_ - bucket : std::min(buckets_ + bucket, count() - 1);
  }

 private:
  std::size_t buckets_;
  std::vector<std::size_t> bucket_of_;
};

/// score += weights[bucket(query, key)][head]. T5 does not divide scores by sqrt(head_dim).
/// weights: [buckets][heads], as the models store them.
class t5_bias {
 public:
  /// Copies the weights. Throws unless there is one a bucket and head, and all are finite.
  t5_bias(relative_buckets buckets, std::span<float const> weights, std::size_t heads)
      : buckets_(std::move(buckets)), weights_(weights.begin(), weights.end()), heads_(heads) {
    detail::require(
        heads > 0 && weights.size() / heads == buckets_.count() && weights.size() % heads == 0,
        "t5_bias: there must be one weight for each of ", buckets_.count(), " buckets and ", heads,
        " heads, got ", weights.size());
    detail::require_finite("t5_bias: weights", weights);
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
  /// max_distance: k, in tokens. Throws unless there are (2 k + 1) heads weights, all finite.
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

static_assert(acts_on_scores<t5_bias> && adds_bias<t5_bias> && acts_on_scores<learned_relative> &&
              adds_bias<learned_relative>);

}}  // namespace posenc
