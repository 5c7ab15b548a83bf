// How fast each pair of a rotary encoding turns.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// One frequency a pair, in radians per position, and the factor on rotated queries and keys that a context-extension rule may ask
/// for. A rule makes frequencies (geometric) or turns frequencies into others (truncated = p-RoPE, linear).
/// A pair of frequency 0 is not rotated. Immutable.
/// Throws std::invalid_argument unless there is a pair, each inv_freq is in [0, 2^64] and attention_factor is finite and positive.
class frequencies {
 public:
  explicit frequencies(std::vector<double> inv_freq, double attention_factor = 1)
      : inv_freq_(std::move(inv_freq)), attention_factor_(attention_factor) {
    detail::require(!inv_freq_.empty(), "frequencies: there must be at least one pair, got none");
    for (std::size_t i = 0; i < inv_freq_.size(); ++i) {
      auto const f = inv_freq_[i];
      detail::require(is_finite(f) && f >= 0 && f <= 0x1p64, "frequencies: inv_freq must be in [0, 2^64] radians per position, got ", f,
                      " at pair ", i);
    }
    detail::require(is_finite(attention_factor) && attention_factor > 0, "frequencies: attention_factor must be finite and positive, got ",
                    attention_factor);
  }

  std::span<double const> inv_freq() const noexcept { return inv_freq_; }
  double attention_factor() const noexcept { return attention_factor_; }
  std::size_t pairs() const noexcept { return inv_freq_.size(); }
  std::size_t rotary_dim() const noexcept { return 2 * inv_freq_.size(); }

 private:
  std::vector<double> inv_freq_;
  double attention_factor_;
};

namespace detail {

/// Pair by pair change(i, inv_freq_i), times the attention factor that there is.
frequencies changed(frequencies const& f, auto const& change, double gain = 1) {
  std::vector<double> inv_freq(f.pairs());
  for (std::size_t i = 0; i < inv_freq.size(); ++i) inv_freq[i] = change(i, f.inv_freq()[i]);
  return frequencies(std::move(inv_freq), f.attention_factor() * gain);
}

inline void require_factor(char const* rule, double factor) {
  require(is_finite(factor) && factor >= 1, rule, ": factor must be finite and at least 1, got ", factor);
}

inline void require_length(char const* rule, char const* name, double length) {
  require(is_finite(length) && length > 0, rule, ": ", name, " must be finite and positive, got ", length);
}

}  // namespace detail

}  // namespace posenc
