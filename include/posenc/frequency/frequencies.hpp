// How fast each pair of a rotary encoding rotates: radians per position.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/detail/two_doubles.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/phase_step.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Neighbouring pairs [first, last).
struct pair_range {
  std::size_t first, last;  ///< [first, last)
  friend bool operator==(pair_range const&, pair_range const&) = default;
};

namespace detail {

/// The pairs i below `pairs` that chosen(i).
std::vector<pair_range> ranges_of(std::size_t pairs, auto const& chosen) {
  std::vector<pair_range> result;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (!chosen(i)) continue;
    if (result.empty() || result.back().last != i) result.push_back({i, i});
    ++result.back().last;
  }
  return result;
}

}  // namespace detail

/// One frequency per pair, in radians per position, and the attention factor: a multiplier on
/// rotated queries and keys that a context-extension rule may ask for. A rule makes frequencies
/// (geometric) or changes given ones (truncated = p-RoPE, linear). A pair of frequency 0 is not
/// rotated. Immutable.
///
/// Each frequency is inv_freq_i + rest_i, a double and its rounding error: a double alone would be
/// off by up to 1e-7 radians at position 2^31. The rest is 0 for frequencies given as doubles.
/// Rules use both: within 2^-98 of their formulas or 2^-1073 radians unless they say otherwise.
class frequencies {
 public:
  /// Frequencies as doubles have them, without rests.
  explicit frequencies(std::vector<double> const& inv_freq, double attention_factor = 1)
      : frequencies(inv_freq, std::vector<double>(inv_freq.size()), attention_factor) {}

  /// [pairs] of both, in radians per position. Throws std::invalid_argument unless there is at
  /// least one pair, each inv_freq is in [0, 2^64], attention_factor is finite and positive, and
  /// each pair has a rest of at most 2^-53 inv_freq_i.
  frequencies(std::vector<double> inv_freq, std::vector<double> rest, double attention_factor)
      : inv_freq_(std::move(inv_freq)),
        rest_(std::move(rest)),
        attention_factor_(attention_factor),
        steps_({}) {
    detail::require(!inv_freq_.empty(), "frequencies: there must be at least one pair, got none");
    detail::require(rest_.size() == inv_freq_.size(),
                    "frequencies: there must be a rest for each of the ", inv_freq_.size(),
                    " pairs, got ", rest_.size());
    for (std::size_t i = 0; i < inv_freq_.size(); ++i) {
      auto const f = inv_freq_[i], r = rest_[i];
      detail::require(is_finite(f) && f >= 0 && f <= 0x1p64,
                      "frequencies: inv_freq must be in [0, 2^64] radians per position, got ", f,
                      " at pair ", i);
      detail::require(is_finite(r) && std::abs(r) <= f * 0x1p-53,
                      "frequencies: a rest must be at most 2^-53 of its inv_freq ", f, ", got ", r,
                      " at pair ", i);
    }
    prepare_rotated_pairs();
    steps_ = phase_steps(inv_freq_, rest_);
  }

  /// [pairs], doubles. A vector if this is a temporary: for (auto x : geometric(...).inv_freq())
  /// would read a span of freed memory.
  std::span<double const> inv_freq() const& noexcept { return inv_freq_; }
  std::vector<double> inv_freq() && noexcept { return std::move(inv_freq_); }  ///< of a temporary
  /// Their rounding errors, [pairs].
  std::span<double const> rest() const& noexcept { return rest_; }
  std::vector<double> rest() && noexcept { return std::move(rest_); }  ///< of a temporary
  /// On rotated queries and on rotated keys: scores have its square.
  double attention_factor() const noexcept { return attention_factor_; }
  std::size_t pairs() const noexcept { return inv_freq_.size(); }  ///< half the rotary dim
  std::size_t rotary_dim() const noexcept { return 2 * pairs(); }  ///< dims that they rotate
  phase_steps const& steps() const noexcept { return steps_; }     ///< for exact angles
  /// The pairs that rows change: of non-zero frequency, or all if attention_factor is not 1.
  std::span<pair_range const> rotated_pairs() const& noexcept { return rotated_pairs_; }
  /// The ranges of a temporary, moved out.
  std::vector<pair_range> rotated_pairs() && { return std::move(rotated_pairs_); }

  /// The same frequencies with another attention factor, in place of this one. Throws as the
  /// constructor does.
  frequencies with_attention_factor(double attention_factor) const {
    auto result = *this;
    result.attention_factor_ = attention_factor;
    result.prepare_rotated_pairs();
    return result;
  }

 private:
  void prepare_rotated_pairs() {
    detail::require_positive("frequencies", "attention_factor", attention_factor_);
    rotated_pairs_ = detail::ranges_of(
        pairs(), [this](std::size_t i) { return inv_freq_[i] != 0 || attention_factor_ != 1; });
  }

  std::vector<double> inv_freq_, rest_;
  double attention_factor_;
  std::vector<pair_range> rotated_pairs_;
  phase_steps steps_;
};

namespace detail {

inline two_doubles with_rest(frequencies const& f, std::size_t i) noexcept {
  return {f.inv_freq()[i], f.rest()[i]};
}

/// The frequencies of(i), each with its rest, of pairs 0 to count - 1.
frequencies for_pairs(std::size_t count, double attention_factor, auto const& of) {
  std::vector<double> inv_freq(count), rest(count);
  for (std::size_t i = 0; i < count; ++i) {
    two_doubles const frequency = of(i);
    inv_freq[i] = frequency.high, rest[i] = frequency.low;
  }
  return {std::move(inv_freq), std::move(rest), attention_factor};
}

/// e^(-x i) for pair i, the product of a coarse (16 pairs apart) and a fine power: an exponential
/// costs 20 products.
class falling_powers {
 public:
  falling_powers(two_doubles const& x, std::size_t count) {
    for (std::size_t i = 0; i < 16 && i < count; ++i)
      fine_.push_back(exp(-(x * static_cast<double>(i))));
    for (std::size_t i = 0; i < count; i += 16)
      coarse_.push_back(exp(-(x * static_cast<double>(i))));
  }
  two_doubles operator()(std::size_t i) const noexcept { return coarse_[i / 16] * fine_[i % 16]; }

 private:
  std::vector<two_doubles> fine_, coarse_;
};

/// Maps every inv_freq_i to change(i, inv_freq_i); multiplies attention_factor by gain.
frequencies changed(frequencies const& f, auto const& change, double gain = 1) {
  return for_pairs(f.pairs(), f.attention_factor() * gain,
                   [&](std::size_t i) -> two_doubles { return change(i, with_rest(f, i)); });
}

}  // namespace detail

/// One pair within a context of a given number of tokens.
struct pair_description {
  std::size_t pair;   ///< its index, from 0
  double inv_freq;    ///< radians per position
  double wavelength;  ///< 2 pi / inv_freq, in tokens; infinite for frequency 0
  double turns;       ///< inv_freq * context / 2 pi
  double last_angle;  ///< inv_freq * (context - 1), the angle at the last position, in radians
};

/// All pairs. Throws std::invalid_argument unless context, in tokens, is positive.
inline std::vector<pair_description> describe(frequencies const& f, std::size_t context) {
  detail::require(context > 0, "describe: context must be positive, got ", context);
  auto const tokens = static_cast<double>(context), turn = 2 * std::numbers::pi;
  std::vector<pair_description> pairs;
  for (auto const x : f.inv_freq()) {
    auto const wavelength = x == 0 ? std::numeric_limits<double>::infinity() : turn / x;
    pairs.push_back({pairs.size(), x, wavelength, x * tokens / turn, x * (tokens - 1)});
  }
  return pairs;
}

}}  // namespace posenc
