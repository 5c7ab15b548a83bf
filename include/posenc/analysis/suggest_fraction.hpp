// Which fraction of pairs p-RoPE may rotate for a context.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// The fraction p of RoPE's pairs that complete a turn within `length` tokens,
///
///     base^(-p) length = 2 pi,     p = ln(length / 2 pi) / ln base,     in [0, 1]
///
/// as a choice for truncated(f, p). Slower pairs see no whole turn of the context, and their
/// rotation disturbs the meaning they carry (semantic_robustness); FoPE (fope_floor) and HoPE
/// [arXiv 2410.21216] cut there too. For base 1e4 and 8192 tokens it is 0.779; of 0.25, 0.75 and 1,
/// 0.75 had the lowest perplexity there [Barbero 2024, 6.1], by small differences. Throws
/// std::invalid_argument unless base is finite and above 1 and length positive.
inline double suggest_fraction(double base, std::size_t length) {
  detail::require_above_1("suggest_fraction", "base", base);
  detail::require(length > 0, "suggest_fraction: length must be positive, got 0");
  auto const turns = static_cast<double>(length) / (2 * std::numbers::pi);
  return std::clamp(std::log(turns) / std::log(base), 0.0, 1.0);
}

/// The same of frequencies in falling order.
struct fraction_suggestion {
  std::size_t kept;  ///< pairs with a turn or more within the context
  double fraction;   ///< kept / pairs: truncated(f, fraction, exact_floor) keeps these
};

/// Throws std::invalid_argument unless length is positive and frequencies never rise from pair to
/// pair, as truncated does.
inline fraction_suggestion suggest_fraction(frequencies const& f, std::size_t length) {
  detail::require(length > 0, "suggest_fraction: length must be positive, got 0");
  auto const inv_freq = f.inv_freq();
  auto const rise = std::is_sorted_until(inv_freq.begin(), inv_freq.end(), std::greater());
  detail::require(rise == inv_freq.end(),
                  "suggest_fraction: frequencies must not rise from pair to pair, got a rise at "
                  "pair ",
                  rise - inv_freq.begin());
  auto const turns = [&](double x) {
    return x > 0 && 2 * std::numbers::pi / x <= static_cast<double>(length);
  };
  auto const kept = static_cast<std::size_t>(std::ranges::count_if(inv_freq, turns));
  return {kept, static_cast<double>(kept) / static_cast<double>(f.pairs())};
}

}  // namespace posenc
