// One row of cosines and sines a token: made once a step, shared by every head, by queries and keys, and by every layer.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/phase_lanes.hpp"

namespace posenc {

/// Neighbouring pairs [first, last).
struct pair_range {
  std::size_t first, last;
  friend bool operator==(pair_range const&, pair_range const&) = default;
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

namespace detail {

constexpr std::int64_t exact(std::integral auto p) noexcept { return static_cast<std::int64_t>(p); }
constexpr double exact(std::floating_point auto p) noexcept { return static_cast<double>(p); }

void require_position(char const* what, std::integral auto p, std::size_t token) {
  require(std::in_range<std::int64_t>(p), what, ": a position must fit int64, got ", p, " at token ", token);
}
void require_position(char const* what, std::floating_point auto p, std::size_t token) {
  auto const x = exact(p);
  require(is_finite(x) && x >= -0x1p63 && x < 0x1p63, what, ": a position must be finite and within [-2^63, 2^63), got ", x, " at token ",
          token);
}

/// Throws unless angles can be made of all; how many there are.
template <position_range Positions>
std::size_t count_positions(char const* what, Positions const& positions) {
  std::size_t token = 0;
  for (auto const p : positions) require_position(what, p, token++);
  return token;
}

/// What the rows of all tokens have in common.
struct row_form {
  std::size_t pairs;
  std::vector<pair_range> turning;
  double factor;      ///< on cosines and sines
  double undo_scale;  ///< 1 / factor^2

  /// turns(i): whether pair i does. A factor has to reach those too that do not.
  row_form(std::size_t pair_count, double its_factor, auto const& turns)
      : pairs(pair_count), factor(its_factor), undo_scale(1 / (factor * factor)) {
    for (std::size_t i = 0; i < pairs; ++i) {
      if (!turns(i) && factor == 1) continue;
      if (turning.empty() || turning.back().last != i) turning.push_back({i, i});
      ++turning.back().last;
    }
  }
  explicit row_form(frequencies const& f)
      : row_form(f.pairs(), f.attention_factor(), [&](std::size_t i) { return f.inv_freq()[i] != 0; }) {}
};

// Both apart from the loop over ranges: clang 14 would keep their constants on the stack there.
template <class Real>
[[gnu::noinline]] std::size_t write_pairs_in_twos(Real* cos, Real* sin, pair_range range, double gain, auto const& angles) noexcept {
  auto const angles_from = angles;  // out of memory
  constexpr auto size = phase_lanes::size;
  auto const factor = phase_lanes::number(gain);
  auto i = range.first;
  for (; range.last - i >= 2 * size; i += 2 * size) {  // one alone waits for itself
    auto const a = cos_sin_lanes(angles_from(i)), b = cos_sin_lanes(angles_from(i + size));
    phase_lanes::store(cos + i, a.cos * factor), phase_lanes::store(cos + i + size, b.cos * factor);
    phase_lanes::store(sin + i, a.sin * factor), phase_lanes::store(sin + i + size, b.sin * factor);
  }
  return i;
}
template <class Real>
[[gnu::noinline]] void write_last_pairs(Real* cos, Real* sin, pair_range range, double gain, auto const angles_from) noexcept {
  for (auto i = range.first; i < range.last; i += phase_lanes::size) {
    auto const values = cos_sin_lanes(angles_from(i));
    store_first(cos + i, values.cos * phase_lanes::number(gain), range.last - i);
    store_first(sin + i, values.sin * phase_lanes::number(gain), range.last - i);
  }
}

/// One row: factor * cos and factor * sin of angles_from(i), the phases of a register of pairs from i on.
template <class Real>
void write_row(Real* row, row_form const& form, auto const& angles_from) noexcept {
  for (auto const range : form.turning) {
    auto const done = write_pairs_in_twos(row, row + form.pairs, range, form.factor, angles_from);
    if (done != range.last) write_last_pairs(row, row + form.pairs, {done, range.last}, form.factor, angles_from);
  }
}

template <class Real>
void write_row_at(std::int64_t position, phase_steps const& steps, Real* row, row_form const& form) noexcept {
  if (std::in_range<std::uint32_t>(position)) return write_row(row, form, steps.at(static_cast<std::uint32_t>(position)));
  write_row(row, form, steps.at(position));
}
template <class Real>
void write_row_at(double position, phase_steps const& steps, Real* row, row_form const& form) noexcept {
  auto const whole = static_cast<std::int64_t>(std::floor(position));
  if (static_cast<double>(whole) == position) return write_row_at(whole, steps, row, form);
  write_row(row, form, steps.at(position));
}

struct rows_access;

}  // namespace detail

/// cos and sin of position * inv_freq, times attention_factor, for every pair of every token; any positions, in any order.
/// Accuracy against exact arithmetic on the inv_freq given, attention factor 1: float 3e-8, that is rounded correctly but for near-ties;
/// double 3e-16 + |position| * 8e-29. Another factor adds one rounding. Float angles are off by 0.06 to 0.16 at one million.
/// A pair that stands still has cosine 1 and sine 0. A position's row has the same bits in whatever company it is made.
/// Throws std::invalid_argument at a position that is NaN or out of range. Immutable, but for cos_sin_table::write.
template <std::floating_point Real = float>
class cos_sin_rows {
 public:
  template <position_range Positions>
  cos_sin_rows(frequencies const& f, Positions const& positions) : cos_sin_rows(detail::row_form(f), positions, f) {}

  operator cos_sin_view<Real>() const noexcept { return {cos_sin_.data(), tokens(), pairs_, turning_}; }
  cos_sin_view<Real> view() const noexcept { return *this; }  ///< like all below, no longer than the rows live
  std::size_t tokens() const noexcept { return cos_sin_.size() / (2 * pairs_); }
  std::size_t pairs() const noexcept { return pairs_; }
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }
  std::span<Real const> cos(std::size_t token) const noexcept { return view().cos(token); }
  std::span<Real const> sin(std::size_t token) const noexcept { return view().sin(token); }
  cos_sin_view<Real> slice_tokens(std::size_t first, std::size_t count) const { return view().slice_tokens(first, count); }

  /// Rows that undo these, the attention factor included: (cos, -sin) / attention_factor^2. Rotating by both gives back what was
  /// there, up to rounding.
  cos_sin_rows inverse() const {
    auto result = mirrored(undo_scale_);
    result.undo_scale_ = 1 / undo_scale_;
    return result;
  }

  /// (cos, -sin): turns back, and multiplies by the attention factor once more. What a gradient with respect to the unrotated vector
  /// takes, and an attention output whose values were rotated keys [DeepSeek-V4]. Equal to inverse() where the factor is 1.
  cos_sin_rows transpose() const { return mirrored(1); }

 private:
  friend detail::rows_access;

  explicit cos_sin_rows(std::size_t pairs) noexcept : pairs_(pairs) {}

  template <position_range Positions>
  cos_sin_rows(detail::row_form const& form, Positions const& positions, frequencies const& f) : pairs_(form.pairs) {
    reshape(form, detail::count_positions("cos_sin_rows", positions));
    phase_steps const steps(f.inv_freq());
    auto* row = cos_sin_.data();
    for (auto const p : positions) {
      detail::write_row_at(detail::exact(p), steps, row, form);
      row += 2 * pairs_;
    }
  }

  // Room for rows of that form, the standing pairs written; nothing is changed if there is no memory.
  void reshape(detail::row_form const& form, std::size_t tokens) {
    auto const alike = pairs_ == form.pairs && std::ranges::equal(turning_, form.turning);
    if (alike && cos_sin_.size() == tokens * 2 * pairs_) return void(undo_scale_ = form.undo_scale);
    auto const known = alike ? this->tokens() : 0;
    cos_sin_.reserve(tokens * 2 * form.pairs);
    turning_.reserve(form.turning.size());
    cos_sin_.resize(tokens * 2 * form.pairs);
    turning_.assign(form.turning.begin(), form.turning.end());
    pairs_ = form.pairs;
    undo_scale_ = form.undo_scale;
    for (auto token = known; token < tokens; ++token) {
      auto* const row = cos_sin_.data() + 2 * pairs_ * token;
      auto const stand = [&](std::size_t first, std::size_t last) {
        std::fill(row + first, row + last, Real{1});
        std::fill(row + pairs_ + first, row + pairs_ + last, Real{0});
      };
      std::size_t from = 0;
      for (auto const [first, last] : turning_) stand(from, first), from = last;
      stand(from, pairs_);
    }
  }

  cos_sin_rows mirrored(double scale) const {
    auto result = *this;
    for (std::size_t token = 0; token < tokens(); ++token) {
      auto* const row = result.cos_sin_.data() + 2 * pairs_ * token;
      for (auto const [first, last] : turning_) {
        for (auto i = first; i < last; ++i) row[i] = static_cast<Real>(row[i] * scale);
        for (auto i = pairs_ + first; i < pairs_ + last; ++i) row[i] = static_cast<Real>(-row[i] * scale);
      }
    }
    return result;
  }

  std::size_t pairs_;
  std::vector<Real> cos_sin_;  // [tokens][2][pairs]; of a pair that is not in turning_, always 1 and 0
  std::vector<pair_range> turning_;
  double undo_scale_ = 1;
};

namespace detail {

/// For what makes rows elsewhere.
struct rows_access {
  template <class Real>
  static cos_sin_rows<Real> make(row_form const& form, std::size_t tokens) {
    cos_sin_rows<Real> rows(form.pairs);
    rows.reshape(form, tokens);
    return rows;
  }
  template <class Real>
  static void reshape(cos_sin_rows<Real>& rows, row_form const& form, std::size_t tokens) {
    rows.reshape(form, tokens);
  }
  template <class Real>
  static Real* data(cos_sin_rows<Real>& rows) noexcept {
    return rows.cos_sin_.data();
  }
};

}  // namespace detail

}  // namespace posenc
