// Which context a base allows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "posenc/analysis/rope_decay.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The contexts that frequencies allow, judged by a(r) = mean_cosine(f, r).
struct context_bounds {
  /// The longest context with a(r) >= 0 at all of its distances, so that a key like the query
  /// scores above a random one on average [Men 2024, Theorem 1]; none if it is `reach` or longer.
  std::optional<std::size_t> context;
  /// a(r) is at least this at every distance: (unrotated pairs - rotated pairs) / pairs. From 0 on
  /// there is no bound: p-RoPE with p <= 1/2.
  double certain;
  /// The wavelength of the slowest pair that rotates, in tokens: beyond it, that pair takes one
  /// distance for another. Infinite if none rotates.
  double longest_wavelength;
};

/// Takes any frequencies: RoPE's, p-RoPE's, or a context-extension rule's. O(reach * pairs). Throws
/// std::invalid_argument unless reach is positive.
inline context_bounds context_bound(frequencies const& f, std::size_t reach) {
  detail::require(reach > 0, "context_bound: reach must be positive, got 0");
  double unrotated = 0, slowest = std::numeric_limits<double>::max();
  for (auto const inv_freq : f.inv_freq()) {
    unrotated += inv_freq == 0;
    if (inv_freq > 0) slowest = std::min(slowest, inv_freq);
  }
  auto const pairs = static_cast<double>(f.pairs());
  return {first_negative_distance(f, reach), (2 * unrotated - pairs) / pairs,
          unrotated == pairs ? std::numeric_limits<double>::infinity()
                             : 2 * std::numbers::pi / slowest};
}

namespace detail {

/// sum_i cos(r b^(-2i / dim)) as a function of ln b: its value, its derivative, and a bound on the
/// second derivative here and for all larger b.
struct cosine_sum {
  double value = 0, slope = 0, bend = 0;
  cosine_sum(std::size_t dim, double log_base, std::size_t distance) {
    for (std::size_t i = 0; i < dim / 2; ++i) {
      auto const c = static_cast<double>(2 * i) / static_cast<double>(dim),
                 angle = static_cast<double>(distance) * std::exp(-c * log_base),
                 sine = std::sin(angle);
      value += std::cos(angle);
      slope += c * angle * sine;
      bend += c * c * angle * (1 + angle);
    }
  }
  /// How far the sum stays negative for certain: -value = slope x + bend x^2 / 2.
  double negative_for() const {
    if (!(value < 0)) return 0;
    return (std::sqrt(slope * slope - 2 * bend * value) - slope) / bend;
  }
};

}  // namespace detail

/// The inverse: the smallest base >= 1 of geometric(dim, base) with a(r) >= 0 at every distance
/// below `length`. [Men 2024]
///
/// The bases that hold for a length are no interval: with dim 128, 11587.5 holds for 2048 tokens
/// and 12000 does not, so ask context_bound of the base that is used. This walks up from 1, past
/// all bases for which a distance is negative for certain: no smaller base holds, but for sets
/// of bases narrower than one part in 10^7. Published values are rounded to two digits, not all of
/// which hold. Time: 0.3 s for 8192 tokens and dim 128, 2 s for 32768. Throws std::invalid_argument
/// unless dim is even and at least 4, and length positive and at most 2^24.
inline double smallest_base(std::size_t dim, std::size_t length) {
  detail::require(dim >= 4 && dim % 2 == 0, "smallest_base: dim must be even and at least 4, got ",
                  dim);
  detail::require(length > 0 && length <= std::size_t{1} << 24,
                  "smallest_base: length must be positive and at most 2^24, got ", length);
  constexpr double resolution = 1e-7;
  std::vector<std::size_t> negative;  // distances that failed for smaller bases
  double log_base = 0;
  while (true) {
    double step = 0;
    for (auto const r : negative)
      step = std::max(step, detail::cosine_sum(dim, log_base, r).negative_for());
    if (step == 0) {
      auto const base = std::exp(log_base);
      auto const found = first_negative_distance(geometric(dim, base), length);
      if (!found) return base;
      if (negative.size() == 16) negative.erase(negative.begin());
      negative.push_back(*found);
      step = detail::cosine_sum(dim, log_base, *found).negative_for();
    }
    log_base += std::max(step, resolution);
  }
}

}}  // namespace posenc
