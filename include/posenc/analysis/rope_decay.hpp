// The effect of frequencies on attention at a distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// a(r) = (1/h) sum_i cos(r inv_freq_i) over the h pairs: the score of two equal constant vectors
/// at distance r, divided by that at distance 0 [Barbero 2024, figure 2]; and how much more a key
/// like the query scores than a random one, divided by the same at distance 0 [Men 2024, theorem
/// 1]. For q, k ~ N(0, I), moving the key by r changes <q, k> by a number of variance
/// 4 h (1 - a(r)). The attention factor is taken as 1. Error: 3e-16.
inline double mean_cosine(frequencies const& f, std::int64_t distance) {
  double sum = 0;
  for (std::size_t i = 0; i < f.pairs(); ++i)
    sum += cos_sin(phase_step(f.inv_freq()[i], f.rest()[i]).at(distance)).cos;
  return sum / static_cast<double>(f.pairs());
}

/// Mean and variance of <R_t q, R_s k>, without 1 / sqrt(head_dim).
struct score_moments {
  double mean,   ///< in units of scores
      variance;  ///< in units of scores, squared
};
/// The score of q ~ N(0, I) and k = rho q + sqrt(1 - rho^2) z, z ~ N(0, I), at a distance, with d =
/// head_dim and all dims rotated:
///
///     mean 2 rho sum_i cos(r inv_freq_i) = rho d a(r)
///     variance 4 rho^2 sum_i cos^2(r inv_freq_i) + (1 - rho^2) d
///
/// Independent vectors do not decay [Barbero 2024, Proposition 3.2]; equal ones have the curve of
/// all ones: decay is a property of how queries and keys correlate. Attention factors and dims that
/// are not rotated count. Throws std::invalid_argument unless rho is in [-1, 1] and head_dim at
/// least rotary_dim.
inline score_moments correlated_score(frequencies const& f, double rho, std::int64_t distance,
                                      std::size_t head_dim) {
  detail::require_within("correlated_score", "rho", rho, -1, 1);
  detail::require(head_dim >= f.rotary_dim(), "correlated_score: head_dim must be at least ",
                  f.rotary_dim(), ", the rotary dim, got ", head_dim);
  auto const gain = f.attention_factor() * f.attention_factor(), square = rho * rho,
             others = static_cast<double>(head_dim - f.rotary_dim());
  score_moments result{rho * others, (1 + square) * others};
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const cos = cos_sin(phase_step(f.inv_freq()[i], f.rest()[i]).at(distance)).cos;
    result.mean += gain * rho * 2 * cos;
    result.variance += gain * gain * (4 * square * cos * cos + 2 * (1 - square));
  }
  return result;
}

/// RoFormer's "relative upper bound" (1/h) sum_{j=1..h} |S_j|, S_j = sum_{i<j} e^(i r inv_freq_i),
/// an upper bound of |<q, R_r k>| up to a constant that depends on q and k. Loose (21 times the
/// score of constant vectors at r = 100), not monotone, and no proof of decay. [Su 2021, 3.4.3]
inline double roformer_bound(frequencies const& f, std::int64_t distance) {
  std::complex<double> partial;
  double sum = 0;
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const [cos, sin] = cos_sin(phase_step(f.inv_freq()[i], f.rest()[i]).at(distance));
    sum += std::abs(partial += std::complex(cos, sin));
  }
  return sum / static_cast<double>(f.pairs());
}

/// The first distance below `reach` with a(r) < 0: there, a key like the query scores below a
/// random one on average, so that the base bounds the context. [Men 2024, theorem 1] Not monotone
/// in the base. O(reach * pairs): about a second for 10^7 * 64.
inline std::optional<std::size_t> first_negative_distance(frequencies const& f, std::size_t reach) {
  // Each distance from the one before by a rotation, restarted exactly every `stretch` distances,
  // so that errors do not accumulate.
  constexpr std::size_t stretch = 4096;
  auto const n = f.pairs();
  auto const unrotated = static_cast<std::size_t>(std::ranges::count(f.inv_freq(), 0.0));
  if (2 * unrotated >= n) return {};  // the rotated pairs cannot outweigh them
  std::vector<double> cos(n), sin(n), step_cos(n), step_sin(n);
  for (std::size_t first = 0; first < reach; first += stretch) {
    for (std::size_t i = 0; i < n; ++i) {
      phase_step const step(f.inv_freq()[i], f.rest()[i]);
      auto const here = cos_sin(step.at(static_cast<std::int64_t>(first))),
                 by_one = cos_sin(step.at(std::int64_t{1}));
      cos[i] = here.cos;
      sin[i] = here.sin;
      step_cos[i] = by_one.cos;
      step_sin[i] = by_one.sin;
    }
    for (auto r = first; r < std::min(first + stretch, reach); ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += cos[i];
        auto const next = cos[i] * step_cos[i] - sin[i] * step_sin[i];
        sin[i] = sin[i] * step_cos[i] + cos[i] * step_sin[i];
        cos[i] = next;
      }
      if (sum < 0) return r;
    }
  }
  return {};
}

}}  // namespace posenc
