// The same inverse temperature for every row; YaRN's.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/yarn.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// softmax(beta * row) for every row: beta above 1 sharpens, below 1 flattens, 1 changes nothing.
/// Preserves order; the entropy H falls as beta grows, dH/dbeta = -beta Var_p(row). [Velickovic
/// 2024, Proposition 3.2]
class constant_temperature {
 public:
  /// Throws std::invalid_argument unless beta is finite and positive.
  explicit constexpr constant_temperature(double beta) : beta_(beta) {
    detail::require_positive("constant_temperature", "beta", beta);
  }

  /// Site 4.
  constexpr double inverse_temperature(row_statistics const&) const noexcept { return beta_; }

 private:
  double beta_;
};

/// YaRN's attention factor as a temperature: beta = attention_factor(scaling)^2, that is (0.1 ln s
/// + 1)^2 unless mscale or an attention factor is given: YaRN's factor on queries and on keys, so
/// twice on scores. [Peng 2023, 3.4, where it is 1/t; modeling_rope_utils.py]
///
///     rope<halves>(yarn(dim, base, scaling))           on queries and keys, as in models' code
///
///     auto plain = scaling;                            on scores: the same for whole heads
///     plain.attention_factor = 1;
///     scheme(rope<halves>(yarn(dim, base, plain)), yarn_temperature(scaling))
///
/// Use one or the other: both together sharpen twice. They differ if only a part of each head is
/// rotated: on queries and keys the factor reaches only the rotated dims. Throws as
/// attention_factor does.
inline constant_temperature yarn_temperature(yarn_scaling const& scaling) {
  auto const magnitude = attention_factor(scaling);
  return constant_temperature(magnitude * magnitude);
}

/// beta = (0.1 ln s + 1)^2, s being the factor by which the context is extended; 1 for s below 1.
/// Throws unless factor is finite and positive.
inline constant_temperature yarn_temperature(double factor) {
  detail::require_positive("yarn_temperature", "factor", factor);
  return yarn_temperature(yarn_scaling{.factor = factor, .original_length = 1});
}

static_assert(acts_on_softmax<constant_temperature> &&
              acts_on_softmax<decltype(yarn_temperature(1.0))>);

}}  // namespace posenc
