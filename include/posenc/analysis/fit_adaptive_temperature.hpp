// The polynomial of adaptive temperature that fits what helps a network.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "posenc/analysis/detail/eigen.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// A row of scores, and what would have been best for it.
struct temperature_sample {
  double entropy;              ///< of its weights at beta 1, in nats
  double inverse_temperature;  ///< the beta that made the right answer likeliest
};

/// adaptive_temperature with the P of degree 4 that minimises
///
///     sum_i (P(H_i) - beta_i)^2                                      [Velickovic 2024, section 5]
///
/// between their lowest and highest entropy, beyond which a polynomial says nothing. Use rows that
/// a temperature can help: neither right at beta 1 nor wrong at every beta. Errors of P: 1e-5 of
/// the largest beta, 1e-12 where entropies begin near 0. Throws std::invalid_argument unless there
/// are at least 5 different entropies, all in [0, 100], their range is more than a hundredth of the
/// highest, and betas are in (0, 1e6].
inline adaptive_temperature fit_adaptive_temperature(std::span<temperature_sample const> samples) {
  constexpr auto name = "fit_adaptive_temperature: ";
  auto const n = static_cast<Eigen::Index>(samples.size());
  detail::require(n >= 5, name, "there must be at least 5 samples, got ", n);
  Eigen::ArrayXd t(n), betas(n), before = Eigen::ArrayXd::Zero(n), values = before + 1;
  for (Eigen::Index i = 0; i < n; ++i) {
    auto const [entropy, beta] = samples[static_cast<std::size_t>(i)];
    detail::require(is_finite(entropy) && entropy >= 0 && entropy <= 100, name,
                    "entropies must be in [0, 100] nats, got ", entropy, " at sample ", i);
    detail::require(is_finite(beta) && beta > 0 && beta <= 1e6, name,
                    "inverse temperatures must be in (0, 1e6], got ", beta, " at sample ", i);
    t[i] = entropy, betas[i] = beta;
  }
  auto const low = t.minCoeff(), high = t.maxCoeff(), width = high - low;
  detail::require(width > high / 100, name, "entropies must spread over more than a hundredth of ",
                  "the highest, got ", low, " to ", high);
  // Polynomials of t = slope H + offset, in [-1, 1], that are orthogonal over the samples, each
  // from the two before it [Forsythe 1957]: their values, and coefficients by power of H.
  auto const slope = 2 / width, offset = -(high + low) / width;
  adaptive_temperature result{{}, low, high};
  t = slope * t + offset;
  std::array<double, 5> p{1}, p_before{};
  double square_before = 1;
  for (std::size_t degree = 0; degree < 5; ++degree) {
    auto const square = values.square().sum(), share = (values * betas).sum() / square,
               centre = (values.square() * t).sum() / square, ratio = square / square_before;
    detail::require(square > 1e-20 * static_cast<double>(n), name,
                    "the entropies must have at least 5 different values, got ", degree);
    before = (t - centre) * values - ratio * before;
    for (std::size_t k = 5; k-- > 0;) {
      result.coefficients[4 - k] += share * p[k];
      p_before[k] = (k > 0 ? slope * p[k - 1] : 0) + (offset - centre) * p[k] - ratio * p_before[k];
    }
    values.swap(before);
    p.swap(p_before);
    square_before = square;
  }
  return result;
}

}}  // namespace posenc
