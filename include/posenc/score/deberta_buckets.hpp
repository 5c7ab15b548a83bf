// DeBERTa's buckets of distances: single ones near the query, logarithmic steps beyond.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

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
/// where the code clips -(s - t) for the second term, which is t - s. Any table by distance can
/// have these rows: bias_table, or learned numbers. Exact, as code in float is up to rounding, and
/// kept as an integer table.
class deberta_buckets {
 public:
  /// max_position: in tokens. Throws std::invalid_argument unless buckets is even, from 4 to 65536,
  /// and max_position above buckets / 2 + 1 and at most 2^24.
  deberta_buckets(std::size_t buckets, std::size_t max_position) : buckets_(buckets) {
    detail::require(buckets >= 4 && buckets % 2 == 0 && buckets <= 65'536,
                    "deberta_buckets: buckets must be even and from 4 to 65536, got ", buckets);
    auto const half = buckets / 2;
    detail::require(max_position > half + 1 && max_position <= std::size_t{1} << 24,
                    "deberta_buckets: max_position must be above ", half + 1,
                    " and at most 2^24, got ", max_position);
    auto const of_half = [&](std::size_t d) {
      return std::log(static_cast<double>(d) / static_cast<double>(half));
    };
    for (std::size_t d = 0; d < max_position; ++d) {
      auto const step =
          d <= half ? 0 : static_cast<double>(half - 1) * of_half(d) / of_half(max_position - 1);
      auto const nearest = std::round(step);  // an edge, but for the rounding of logarithms
      auto const whole = std::abs(step - nearest) < 1e-9 ? nearest : std::ceil(step);
      bucket_of_.push_back(d <= half ? d : half + static_cast<std::size_t>(whole));
    }
  }

  /// Rows of the table.
  std::size_t count() const noexcept { return 2 * buckets_; }

  /// distance: query - key.
  std::size_t operator()(std::int64_t distance) const noexcept {
    bool const is_after = distance < 0;  // the key, of the query
    auto const unsigned_distance = static_cast<std::uint64_t>(distance);
    auto const magnitude = is_after ? 0 - unsigned_distance : unsigned_distance;
    auto const bucket =
        magnitude < bucket_of_.size() ? bucket_of_[static_cast<std::size_t>(magnitude)] : buckets_;
    return is_after ? buckets_ - bucket : std::min(buckets_ + bucket, count() - 1);
  }

 private:
  std::size_t buckets_;
  std::vector<std::size_t> bucket_of_;
};

}  // namespace posenc
