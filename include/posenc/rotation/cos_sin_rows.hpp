// One row of cosines and sines a token: made once a step, shared by every head, by queries and keys, and by every layer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/phase.hpp"

namespace posenc {

/// Neighbouring pairs [first, last).
struct pair_range {
  std::size_t first, last;
};

/// Rows that somebody else owns. Real is float, or double to rotate doubles.
template <std::floating_point Real>
class cos_sin_view {
 public:
  /// cos_sin: [tokens][2][pairs], the cosines of a token before its sines. turning: the pairs that are not left alone.
  cos_sin_view(Real const* cos_sin, std::size_t tokens, std::size_t pairs, std::span<pair_range const> turning) noexcept
      : cos_sin_(cos_sin), tokens_(tokens), pairs_(pairs), turning_(turning) {}

  std::size_t tokens() const noexcept { return tokens_; }
  std::size_t pairs() const noexcept { return pairs_; }
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }
  std::span<pair_range const> turning() const noexcept { return turning_; }
  std::span<Real const> cos(std::size_t token) const noexcept { return {cos_sin_ + 2 * pairs_ * token, pairs_}; }
  std::span<Real const> sin(std::size_t token) const noexcept { return {cos_sin_ + 2 * pairs_ * token + pairs_, pairs_}; }

  /// The rows of `count` tokens from `first` on, for work that is split by tokens.
  cos_sin_view slice_tokens(std::size_t first, std::size_t count) const {
    detail::require(first <= tokens_ && count <= tokens_ - first, "cos_sin_view: a slice of tokens must lie within [0, ", tokens_,
                    "), got first ", first, ", count ", count);
    return {cos_sin_ + 2 * pairs_ * first, count, pairs_, turning_};
  }

 private:
  Real const* cos_sin_;
  std::size_t tokens_, pairs_;
  std::span<pair_range const> turning_;
};

/// A position: an integer that fits int64, or a finite fractional number below 2^63 in magnitude.
template <class P>
concept position = (std::integral<P> && !std::same_as<P, bool>) || std::floating_point<P>;

template <class R>
concept position_range = std::ranges::sized_range<R const> && position<std::ranges::range_value_t<R>>;

/// cos and sin of position * inv_freq, times attention_factor, for every pair of every token; any positions, in any order.
/// Accuracy against exact arithmetic on the inv_freq given, attention factor 1: float 3e-8, that is rounded correctly but for near-ties;
/// double 3e-16 + |position| * 8e-29. Another factor adds one rounding. Float angles are off by 0.06 to 0.16 at one million.
/// Throws std::invalid_argument at a position that is NaN or out of range. Immutable.
template <std::floating_point Real = float>
class cos_sin_rows {
 public:
  template <position_range Positions>
  cos_sin_rows(frequencies const& f, Positions const& positions) : pairs_(f.pairs()) {
    std::size_t token = 0;
    for (auto const p : positions) check(p, token++);

    std::vector<phase_step> const steps(f.inv_freq().begin(), f.inv_freq().end());
    cos_sin_.resize(token * 2 * pairs_);
    auto* row = cos_sin_.data();
    for (auto const p : positions) {
      for (std::size_t i = 0; i < pairs_; ++i) {
        auto const [cos, sin] = cos_sin(steps[i].at(exact(p)));
        row[i] = static_cast<Real>(cos * f.attention_factor());
        row[pairs_ + i] = static_cast<Real>(sin * f.attention_factor());
      }
      row += 2 * pairs_;
    }

    // A pair of frequency 0 is left alone, unless the attention factor has to reach it.
    for (std::size_t i = 0; i < pairs_; ++i) {
      if (f.inv_freq()[i] == 0 && f.attention_factor() == 1) continue;
      if (turning_.empty() || turning_.back().last != i) turning_.push_back({i, i});
      ++turning_.back().last;
    }
    undo_scale_ = 1 / (f.attention_factor() * f.attention_factor());
  }

  operator cos_sin_view<Real>() const noexcept { return {cos_sin_.data(), tokens(), pairs_, turning_}; }
  cos_sin_view<Real> view() const noexcept { return *this; }  ///< like all below, no longer than the rows live
  std::size_t tokens() const noexcept { return cos_sin_.size() / (2 * pairs_); }
  std::size_t pairs() const noexcept { return pairs_; }
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }
  std::span<Real const> cos(std::size_t token) const noexcept { return view().cos(token); }
  std::span<Real const> sin(std::size_t token) const noexcept { return view().sin(token); }
  cos_sin_view<Real> slice_tokens(std::size_t first, std::size_t count) const { return view().slice_tokens(first, count); }

  /// Rows that undo these, the attention factor included: rotating by both gives back what was there, up to rounding.
  cos_sin_rows inverse() const {
    auto result = *this;
    for (std::size_t token = 0; token < tokens(); ++token) {
      auto* const row = result.cos_sin_.data() + 2 * pairs_ * token;
      for (std::size_t i = 0; i < pairs_; ++i) row[i] = static_cast<Real>(row[i] * undo_scale_);
      for (std::size_t i = pairs_; i < 2 * pairs_; ++i) row[i] = static_cast<Real>(-row[i] * undo_scale_);
    }
    result.undo_scale_ = 1 / undo_scale_;
    return result;
  }

 private:
  static std::int64_t exact(std::integral auto p) noexcept { return static_cast<std::int64_t>(p); }
  static double exact(std::floating_point auto p) noexcept { return static_cast<double>(p); }

  static void check(std::integral auto p, std::size_t token) {
    detail::require(std::in_range<std::int64_t>(p), "cos_sin_rows: a position must fit int64, got ", p, " at token ", token);
  }
  static void check(std::floating_point auto p, std::size_t token) {
    auto const x = exact(p);
    detail::require(is_finite(x) && x >= -0x1p63 && x < 0x1p63, "cos_sin_rows: a position must be finite and within [-2^63, 2^63), got ", x,
                    " at token ", token);
  }

  std::size_t pairs_;
  std::vector<Real> cos_sin_;  // [tokens][2][pairs]
  std::vector<pair_range> turning_;
  double undo_scale_ = 1;
};

}  // namespace posenc
