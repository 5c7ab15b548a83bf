#pragma once

/// The entropy-adaptive temperature of "softmax is not enough" and its consequences.
/// Source: coefficients and rule from the adaptive temperature code of [Velickovic 2024]: H = -sum
/// p ln(p + 1e-9) of the plain softmax, beta = max(P(H), 1) where H > 0.5, else 1, result
/// softmax(beta * logits). The values follow from that rule, evaluated with 70 digits and written
/// with 17.

#include <array>
#include <cstddef>

namespace golden {

/// P, from the highest power of H down.
inline constexpr std::array<double, 5> adaptive_coefficients{{-0.037, 0.481, -2.3, 4.917, -1.791}};

struct adaptive_point {
  double entropy;
  double polynomial;
};

/// P(H) away from H = 1, the one point where reading the coefficients backwards gives the same
/// value.
inline constexpr std::array<adaptive_point, 7> adaptive_points{{
    {0.5, 0.1503125},
    {1.5, 1.8455625},
    {2.0, 2.099},
    {3.0, 2.25},
    {4.0, 2.389},
    {5.0, 2.294},
    {6.0, 0.855},
}};

/// P exceeds 1 only between these entropies, so that beta is continuous and the test H > 0.5
/// changes nothing.
inline constexpr double adaptive_lower_root = 0.84858199600986928;
inline constexpr double adaptive_upper_root = 5.9445208279051429;

/// Where P is largest, and its value there.
inline constexpr double adaptive_peak_entropy = 4.4124018659656706;
inline constexpr double adaptive_peak_beta = 2.4213877066315243;

/// A uniform row is adapted up to this many keys; then ln(keys) passes the upper root and beta is 1
/// again.
inline constexpr std::size_t adaptive_last_uniform_keys = 381;
inline constexpr double adaptive_last_uniform_beta =
    1.0043427618048769;  ///< P(ln 381), the epsilon left out

struct adaptive_example {
  std::size_t keys;
  std::array<double, 16> logits;  ///< the first `keys` count
  double entropy;                 ///< -sum p ln p
  double entropy_with_epsilon;    ///< -sum p ln(p + 1e-9), which the rule uses
  double beta;
  double largest_plain;     ///< the largest weight of softmax(logits)
  double largest_adaptive;  ///< the largest weight of softmax(beta * logits)
};

inline constexpr std::array<adaptive_example, 5> adaptive_examples{{
    {4,
     {{1, 2, 3, 4}},
     0.94753696397542556,
     0.94753695997542559,
     1.1824114068985341,
     0.64391425988797231,
     0.69963887380821572},
    {8,
     {{0, 1, 2, 3, 4, 5, 6, 7}},
     1.0376317317416015,
     1.0376317237416029,
     1.3291519885022812,
     0.63233268281204245,
     0.73531608640413425},
    {16,
     {{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
     1.8403687655820883,
     1.8403687495820885,
     2.0418403050933214,
     0.57247340883397867,
     0.96824609926570852},
    {4,
     {{5, 0, 0, 0}},
     0.11907894009217233,
     0.11907893609217256,
     1.0,
     0.98018666265349094,
     0.98018666265349094},
    {4, {{0, 0, 0, 0}}, 1.3862943611198906, 1.3862943571198906, 1.7500661243955861, 0.25, 0.25},
}};

/// The adaptive softmax of the logits 1, 2, 3, 4.
inline constexpr std::array<double, 4> adaptive_weights_1234{
    {0.020152534994707734, 0.065742230289103685, 0.21446636090797286, 0.69963887380821572}};

/// The entropy of one logit of 3 among 1023 of 0: so dispersed that beta is 1 and the row gets no
/// help.
inline constexpr double adaptive_dispersed_entropy = 6.8921708019943111;

/// dH/dbeta = -beta Var_p(logits) for the logits 1, 2, 3, 4 at beta = 1.3 [Velickovic 2024,
/// Proposition 3.2].
inline constexpr double entropy_slope_1234 = -0.55345102692380052;

}  // namespace golden
