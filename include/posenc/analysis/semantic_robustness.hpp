// How far slow pairs rotate within a context.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The distance at which a pair that scored 1 at distance 0 first scores only `cosine`:
/// arccos(cosine) / inv_freq tokens. 0 is where its sign flips, -1 where it is most negative.
/// Infinite for a frequency of 0, unless cosine is 1. Throws std::invalid_argument unless inv_freq
/// is finite and at least 0, and cosine in [-1, 1].
inline double distance_of_cosine(double inv_freq, double cosine) {
  detail::require(is_finite(inv_freq) && inv_freq >= 0,
                  "distance_of_cosine: inv_freq must be finite and at least 0, got ", inv_freq);
  detail::require_within("distance_of_cosine", "cosine", cosine, -1, 1);
  if (cosine == 1) return 0;
  if (inv_freq == 0) return std::numeric_limits<double>::infinity();
  return std::acos(cosine) / inv_freq;
}

/// The shortest context in which a pair that carries meaning picks a wrong token [Barbero 2024,
/// Theorem 6.1]. The wanted key scores 1 at distance 0, all others `likeness` (-1: opposite
/// meanings), the nearest of them if that is >= 0, else the one just before the wanted key, wins if
///
///     cos((n - 1) f) < likeness, or below 0:  cos((n - 1) f) < likeness cos((n - 2) f)
///
/// Whole tokens, to the rounding of f; infinite for a frequency f of 0 (p-RoPE, NoPE). Throws
/// std::invalid_argument unless inv_freq is in [0, 1] and likeness in [-1, 1).
inline double length_of_wrong_token(double inv_freq, double likeness) {
  detail::require_within("length_of_wrong_token", "inv_freq", inv_freq, 0, 1);
  detail::require(is_finite(likeness) && likeness >= -1 && likeness < 1,
                  "length_of_wrong_token: likeness must be in [-1, 1), got ", likeness);
  if (inv_freq == 0) return std::numeric_limits<double>::infinity();
  // cos a + c cos(a - f) is a cosine of a less the phase of 1 + c e^(i f).
  auto const angle = likeness >= 0
                         ? std::acos(likeness)
                         : std::numbers::pi / 2 + std::atan2(-likeness * std::sin(inv_freq),
                                                             1 - likeness * std::cos(inv_freq));
  return std::floor(angle / inv_freq) + 2;
}

/// How well each pair keeps a score within a context.
struct semantic_robustness_result {
  std::vector<double> lowest_cosines;  ///< of each pair: the lowest share of a score that it keeps
  std::size_t robust;                  ///< pairs that keep at least the cosine at every distance
};

/// A pair that carries meaning should score the same two tokens alike at any distance: RoPE leaves
/// cos(r inv_freq) of the score that q and k of one direction have at distance 0. In a long context
/// every pair that rotates makes it its opposite (length_of_wrong_token); pairs of frequency 0
/// keep it (p-RoPE). The lowest cosine is over all distances up to length - 1, fractional ones too.
/// Throws std::invalid_argument unless length is positive and cosine is in [-1, 1].
inline semantic_robustness_result semantic_robustness(frequencies const& f, std::size_t length,
                                                      double cosine = 0.9) {
  detail::require(length > 0, "semantic_robustness: length must be positive, got 0");
  detail::require_within("semantic_robustness", "cosine", cosine, -1, 1);
  semantic_robustness_result result{{}, 0};
  for (auto const inv_freq : f.inv_freq()) {
    auto const angle = inv_freq * static_cast<double>(length - 1),
               lowest = angle < std::numbers::pi ? std::cos(angle) : -1;
    result.lowest_cosines.push_back(lowest);
    result.robust += lowest >= cosine;
  }
  return result;
}

/// The fraction p of RoPE's pairs that complete a turn within `length` tokens,
///
///     base^(-p) length = 2 pi,     p = ln(length / 2 pi) / ln base,     in [0, 1]
///
/// as a choice for truncated(f, p). Slower pairs see no whole turn of the context, and their
/// rotation disturbs the meaning they carry (semantic_robustness); FoPE (fope_floor) and HoPE
/// [arXiv 2410.21216] cut there too. For base 1e4 and 8192 tokens p is 0.779; of models with that
/// base and length, p = 0.75 had a slightly lower perplexity than 0.25 and 1 [Barbero 2024, 6.1].
/// Throws std::invalid_argument unless base is finite and above 1 and length positive.
inline double suggest_fraction(double base, std::size_t length) {
  detail::require_above_1("suggest_fraction", "base", base);
  detail::require(length > 0, "suggest_fraction: length must be positive, got 0");
  auto const turns = static_cast<double>(length) / (2 * std::numbers::pi);
  return std::clamp(std::log(turns) / std::log(base), 0.0, 1.0);
}

/// suggest_fraction of frequencies in falling order.
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

}}  // namespace posenc
