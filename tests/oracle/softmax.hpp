#pragma once

/// Softmax, its entropy, and the entropy-adaptive temperature [Velickovic 2024].

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace oracle {

/// exp(inverse_temperature * logit), normalised to sum 1. A logit of -inf is a masked key and weighs 0; a row with
/// every key masked is all zeros. Logits are neither NaN nor +inf.
inline std::vector<double> softmax(std::span<const double> logits, double inverse_temperature = 1) {
  constexpr double masked = -std::numeric_limits<double>::infinity();
  const auto scaled = [&](double logit) { return static_cast<long double>(inverse_temperature) * logit; };
  long double largest = masked;
  for (const double logit : logits)
    if (logit != masked) largest = std::max(largest, scaled(logit));
  std::vector<long double> numerators;
  long double sum = 0;
  for (const double logit : logits) {
    numerators.push_back(logit == masked ? 0.0L : std::exp(scaled(logit) - largest));
    sum += numerators.back();
  }
  std::vector<double> weights;
  for (const long double numerator : numerators)
    weights.push_back(sum == 0.0L ? 0.0 : static_cast<double>(numerator / sum));
  return weights;
}

/// The entropy -sum p ln p in nats, where 0 ln 0 = 0.
inline double entropy(std::span<const double> weights) {
  long double sum = 0;
  for (const long double p : weights)
    if (p > 0) sum -= p * std::log(p);
  return static_cast<double>(sum);
}

/// The entropy as the paper's code computes it, -sum p ln(p + 1e-9): short by about 1e-9 a key.
inline double entropy_with_epsilon(std::span<const double> weights) {
  long double sum = 0;
  for (const long double p : weights) sum -= p * std::log(p + 1e-9L);
  return static_cast<double>(sum);
}

/// The fitted inverse temperature: above 0.5 nats, max(P(H), 1); otherwise 1.
inline double adaptive_beta(double entropy) {
  if (!(entropy > 0.5)) return 1.0;
  const long double h = entropy;
  const long double fit = -0.037L * h * h * h * h + 0.481L * h * h * h - 2.3L * h * h + 4.917L * h - 1.791L;
  return static_cast<double>(std::max(fit, 1.0L));
}

/// The paper's adaptive softmax: the entropy (with its epsilon) of the plain softmax decides the temperature.
inline std::vector<double> adaptive_softmax(std::span<const double> logits) {
  return softmax(logits, adaptive_beta(entropy_with_epsilon(softmax(logits))));
}

}  // namespace oracle
