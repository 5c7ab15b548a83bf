#pragma once

/// The biases of site 3 by their definitions, in wide numbers, without regard to speed.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracle/angle.hpp"

namespace oracle {

using real = wide;

inline real distance_between(std::int64_t a, std::int64_t b) {
  const real difference =
      static_cast<real>(a) - static_cast<real>(b);  // 64 bits of mantissa hold it, but for its sign
  return difference < 0 ? -difference : difference;
}

/// [Chi 2022]: -p ln(1 + a r).
inline real kerple_log_bias(double p, double a, real r) {
  return -static_cast<real>(p) * log(1.0L + static_cast<real>(a) * r);
}

/// [Chi 2022]: -a r^p.
inline real kerple_power_bias(double p, double a, real r) {
  return r > 0 ? -static_cast<real>(a) * pow(r, static_cast<real>(p)) : 0;
}

/// [Anson 2025]: a(r) = sqrt(2 (ln(r / tau + 1) - ln alpha + beta / alpha)), with alpha = beta =
/// e^(1/2), from a(0) = 1 and m(0) = 0; m(r) = beta / alpha - a(r)^2.
inline real scale_invariant_slope(double tau, real r) {
  return sqrt(2.0L * (log(r / static_cast<real>(tau) + 1.0L) - 0.5L + 1.0L));
}
inline real scale_invariant_score(double tau, real r, real score) {
  const real a = scale_invariant_slope(tau, r);
  return a * score + (1.0L - a * a);
}

/// [Chi 2023]: the inner product of sinusoidal embeddings of `dims` dims, less its largest value,
/// over 8 (h + 1) / H.
inline real sandwich_bias(std::span<const real> inv_freq, std::size_t head, std::size_t heads,
                          real r) {
  real product = 0;
  for (const real f : inv_freq) product += direction_at(r, f).cos;
  return (product - static_cast<real>(inv_freq.size())) /
         (8.0L / static_cast<real>(heads) * static_cast<real>(head + 1));
}

/// Its frequencies: 10000^(-2i / dims).
inline std::vector<real> sandwich_frequencies(std::size_t dims) {
  std::vector<real> inv_freq;
  for (std::size_t i = 0; 2 * i < dims; ++i)
    inv_freq.push_back(1 / pow(1e4L, 2 * static_cast<real>(i) / static_cast<real>(dims)));
  return inv_freq;
}

/// [Li 2023]: the input of FIRE's network, for a key that is not after the query.
inline real fire_input(double c, double threshold, double epsilon, std::int64_t query,
                       std::int64_t key) {
  const real farthest = static_cast<real>(query) > static_cast<real>(threshold)
                            ? static_cast<real>(query)
                            : static_cast<real>(threshold);
  const auto psi = [&](real x) { return log(static_cast<real>(c) * x + 1.0L); };
  return psi(distance_between(query, key)) / (psi(farthest) + static_cast<real>(epsilon));
}

/// [Lin 2025]: the sum of a head's log forget gates, from the one after the key to the query's.
inline real forgetting_bias(std::span<const float> log_gates, std::size_t heads, std::size_t head,
                            std::size_t query, std::size_t key) {
  real sum = 0;
  for (std::size_t l = key + 1; l <= query; ++l)
    sum += static_cast<real>(log_gates[l * heads + head]);
  return sum;
}

/// [Golovneva 2024]: CoPE's position of one key before it is clamped: the sum of the gates from
/// that key to the query.
inline real cope_position(std::span<const double> scores, std::span<const std::int64_t> at,
                          std::int64_t query, std::int64_t key) {
  real sum = 0;
  for (std::size_t u = 0; u < scores.size(); ++u) {
    if (at[u] >= key && at[u] <= query) sum += 1.0L / (1.0L + exp(-static_cast<real>(scores[u])));
  }
  return sum;
}

/// <q, e[p]>, p clamped to the table, between its vectors in proportion.
inline real cope_product(std::span<const float> embeddings, std::span<const double> q, real p) {
  const std::size_t last = embeddings.size() / q.size() - 1;
  if (p > static_cast<real>(last)) p = static_cast<real>(last);
  const auto product = [&](std::size_t position) {
    real sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i)
      sum += static_cast<real>(q[i]) * static_cast<real>(embeddings[position * q.size() + i]);
    return sum;
  };
  const std::size_t below = static_cast<std::size_t>(p),
                    above = static_cast<real>(below) == p ? below : below + 1;
  const real weight = p - static_cast<real>(below);
  return (1 - weight) * product(below) + weight * product(above);
}

}  // namespace oracle
