// Masked scores, and the logit of no sink.
#pragma once

#include <concepts>

#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// The score of a masked key: -infinity.
template <std::floating_point T>
inline constexpr T masked_score = detail::negative_infinity<T>;

/// True for -infinity only; also if a bias or an overflow in T made it.
template <std::floating_point T>
constexpr bool is_masked(T score) noexcept {
  return detail::is_negative_infinity(score);
}

/// No sink: a logit of -infinity. Any finite logit, however low, is a sink.
inline constexpr double no_sink = detail::negative_infinity<double>;

}  // namespace posenc
