// One row of cosines and sines a token: made once a step, shared by every head, by queries and keys, and by every layer.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/core/two_doubles.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/cos_sin_view.hpp"
#include "posenc/rotation/row_writer.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

struct rows_access;

/// cos + i sin -> 1 / (cos + i sin), which is (cos, -sin) / (cos^2 + sin^2), within three roundings of a double and one to Real.
template <std::floating_point Real>
void take_reciprocal(Real& cos, Real& sin) noexcept {
  // Numbers near 1, for the squares of doubles may be beyond their range.
  auto const exponent = std::ilogb(std::max(std::abs(cos), std::abs(sin)));
  double const c = std::scalbn(static_cast<double>(cos), -exponent), s = std::scalbn(static_cast<double>(sin), -exponent);
  auto const norm = c * c + s * s;
  cos = static_cast<Real>(std::scalbn(c / norm, -exponent)), sin = static_cast<Real>(std::scalbn(-s / norm, -exponent));
}

/// Rows begin where a line of the cache does, as far as their length allows it.
template <class Real>
struct line_allocator {
  using value_type = Real;
  line_allocator() = default;
  template <class Other>
  line_allocator(line_allocator<Other> const&) noexcept {}
  static constexpr std::align_val_t line{64};
  Real* allocate(std::size_t n) { return static_cast<Real*>(::operator new(n * sizeof(Real), line)); }
  void deallocate(Real* p, std::size_t) noexcept { ::operator delete(p, line); }
  friend bool operator==(line_allocator, line_allocator) noexcept { return true; }
};

}  // namespace detail

/// cos and sin of position * inv_freq, times attention_factor, for every pair of every token; any positions, in any order.
/// Accuracy against exact arithmetic, attention factor 1: float 3e-8, that is rounded correctly but for near-ties; double
/// 3e-16 + |position| (8e-29 + inv_freq 2^-98): of the numbers that were given or, where a rule made them, of its formula (frequencies).
/// Another factor adds one rounding. Float angles are off by 0.06 to 0.16 at one million. A pair that stands still has cosine 1 and sine 0.
/// A position's row has the same bits in whatever company it is made; another target's, with or without fused multiply-add, may differ in
/// the last place. Throws std::invalid_argument at a position that is NaN or out of range. Immutable, but for cos_sin_table::write.
template <std::floating_point Real = float>
class cos_sin_rows {
 public:
  template <position_range Positions>
  cos_sin_rows(frequencies const& f, Positions const& positions) : cos_sin_rows(detail::row_layout(f), positions, f) {}

  operator cos_sin_view<Real>() const noexcept { return {cos_sin_.data(), tokens(), pairs_, rotated_pairs_}; }
  cos_sin_view<Real> view() const noexcept { return *this; }  ///< like all below, no longer than the rows live
  std::size_t tokens() const noexcept { return cos_sin_.size() / (2 * pairs_); }
  std::size_t pairs() const noexcept { return pairs_; }
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }
  std::span<Real const> cos(std::size_t token) const noexcept { return view().cos(token); }
  std::span<Real const> sin(std::size_t token) const noexcept { return view().sin(token); }
  cos_sin_view<Real> slice_tokens(std::size_t first, std::size_t count) const { return view().slice_tokens(first, count); }

  /// Rows that undo these, the attention factor and xPos's gains included: of each pair (cos, -sin) / gain^2. Rotating by both gives back
  /// what was there, up to rounding.
  cos_sin_rows inverse() const {
    if (gain_ == 0) return each_pair(detail::take_reciprocal<Real>);
    // The square of a gain may be beyond the range of doubles, and -ffast-math would make one.
    auto const undo = [this](double x) {
      return static_cast<Real>(inverted_ ? detail::stored(x * gain_) * gain_ : detail::stored(x / gain_) / gain_);
    };
    auto result = each_pair([undo](Real& cos, Real& sin) { cos = undo(cos), sin = undo(-sin); });
    result.inverted_ = !inverted_;
    return result;
  }

  /// (cos, -sin): turns back, and multiplies by the attention factor once more. What a gradient with respect to the unrotated vector
  /// takes, and an attention output whose values were rotated keys [DeepSeek-V4]. Equal to inverse() where the factor is 1.
  cos_sin_rows transpose() const {
    return each_pair([](Real&, Real& sin) { sin = -sin; });
  }

 private:
  friend detail::rows_access;

  explicit cos_sin_rows(std::size_t pairs) noexcept : pairs_(pairs) {}

  template <position_range Positions>
  cos_sin_rows(detail::row_layout const& layout, Positions const& positions, frequencies const& f) : pairs_(layout.pairs) {
    reshape(layout, detail::checked_positions("cos_sin_rows", positions));
    phase_steps const steps(f);
    auto* row = cos_sin_.data();
    for (auto const p : positions) {
      detail::write_row_at(detail::widened(p), steps, row, layout);
      row += 2 * pairs_;
    }
  }

  // Room for rows of that form, the standing pairs written; nothing is changed if there is no memory.
  void reshape(detail::row_layout const& layout, std::size_t tokens) {
    auto const alike = pairs_ == layout.pairs && std::ranges::equal(rotated_pairs_, layout.rotated_pairs);
    auto const keep_gain = [&] { gain_ = layout.gain, inverted_ = false; };
    if (alike && cos_sin_.size() == tokens * 2 * pairs_) return keep_gain();
    auto const known = alike ? this->tokens() : 0;
    cos_sin_.reserve(tokens * 2 * layout.pairs);
    rotated_pairs_.reserve(layout.rotated_pairs.size());
    cos_sin_.resize(tokens * 2 * layout.pairs);
    rotated_pairs_.assign(layout.rotated_pairs.begin(), layout.rotated_pairs.end());
    pairs_ = layout.pairs;
    keep_gain();
    for (auto token = known; token < tokens; ++token) {
      auto* const row = cos_sin_.data() + 2 * pairs_ * token;
      auto const stand = [&](std::size_t first, std::size_t last) {
        std::fill(row + first, row + last, Real{1});
        std::fill(row + pairs_ + first, row + pairs_ + last, Real{0});
      };
      std::size_t from = 0;
      for (auto const [first, last] : rotated_pairs_) stand(from, first), from = last;
      stand(from, pairs_);
    }
  }

  cos_sin_rows each_pair(auto const& change) const {
    auto result = *this;
    for (std::size_t token = 0; token < tokens(); ++token) {
      auto* const row = result.cos_sin_.data() + 2 * pairs_ * token;
      for (auto const [first, last] : rotated_pairs_) {
        for (auto i = first; i < last; ++i) change(row[i], row[pairs_ + i]);
      }
    }
    return result;
  }

  std::size_t pairs_;
  std::vector<Real, detail::line_allocator<Real>> cos_sin_;  // [tokens][2][pairs]; of a pair that is not in rotated_pairs_, always 1 and 0
  std::vector<pair_range> rotated_pairs_;
  double gain_ = 1;  // as row_layout has it
  bool inverted_ = false;
};

namespace detail {

/// For what makes rows elsewhere.
struct rows_access {
  template <class Real>
  static cos_sin_rows<Real> make(row_layout const& layout, std::size_t tokens) {
    cos_sin_rows<Real> rows(layout.pairs);
    rows.reshape(layout, tokens);
    return rows;
  }
  template <class Real>
  static void reshape(cos_sin_rows<Real>& rows, row_layout const& layout, std::size_t tokens) {
    rows.reshape(layout, tokens);
  }
  template <class Real>
  static Real* data(cos_sin_rows<Real>& rows) noexcept {
    return rows.cos_sin_.data();
  }
};

}  // namespace detail

}  // namespace posenc
