#pragma once

/// Softmax, its entropy, and the entropy-adaptive temperature [Velickovic 2024].

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "wide.hpp"

namespace oracle {

/// exp(inverse_temperature * logit), normalised to sum 1. A logit of -inf is a masked key and
/// weighs 0; a row with every key masked is all zeros. Logits are neither NaN nor +inf.
inline std::vector<double> softmax(std::span<const double> logits, double inverse_temperature = 1) {
  constexpr double masked = -std::numeric_limits<double>::infinity();
  const auto scaled = [&](double logit) { return static_cast<wide>(inverse_temperature) * logit; };
  wide largest = masked;
  for (const double logit : logits)
    if (logit != masked) largest = std::max(largest, scaled(logit));
  std::vector<wide> numerators;
  wide sum = 0;
  for (const double logit : logits) {
    numerators.push_back(logit == masked ? 0.0L : exp(scaled(logit) - largest));
    sum += numerators.back();
  }
  std::vector<double> weights;
  for (const wide numerator : numerators)
    weights.push_back(sum == 0.0L ? 0.0 : static_cast<double>(numerator / sum));
  return weights;
}

/// The entropy -sum p ln p in nats, where 0 ln 0 = 0.
inline double entropy(std::span<const double> weights) {
  wide sum = 0;
  for (const wide p : weights)
    if (p > 0) sum -= p * log(p);
  return static_cast<double>(sum);
}

/// The entropy as the paper's code computes it, -sum p ln(p + 1e-9): too small by about 1e-9 per
/// key.
inline double entropy_with_epsilon(std::span<const double> weights) {
  wide sum = 0;
  for (const wide p : weights) sum -= p * log(p + wide(1) / 1'000'000'000);
  return static_cast<double>(sum);
}

/// The fitted inverse temperature: above 0.5 nats, max(P(H), 1); otherwise 1.
inline double adaptive_beta(double entropy) {
  if (!(entropy > 0.5)) return 1.0;
  const wide h = entropy;
  const wide fit = (-37 * h * h * h * h + 481 * h * h * h - 2300 * h * h + 4917 * h - 1791) / 1000;
  return static_cast<double>(std::max(fit, wide(1)));
}

/// The paper's adaptive softmax: the entropy (with its epsilon) of the plain softmax decides the
/// temperature.
inline std::vector<double> adaptive_softmax(std::span<const double> logits) {
  return softmax(logits, adaptive_beta(entropy_with_epsilon(softmax(logits))));
}

}  // namespace oracle
