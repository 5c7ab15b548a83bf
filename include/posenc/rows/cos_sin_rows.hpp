// Rows of cosines and sines, one per token, or per token and head: made once per step.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/detail/row_writer.hpp"
#include "posenc/rows/mixed_row_maker.hpp"
#include "posenc/rows/phase.hpp"
#include "posenc/rows/row_maker.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// cos and sin of position * inv_freq, times attention_factor, for every pair of every token. Any
/// positions, in any order; a pair of frequency 0 has cosine 1 and sine 0.
///
/// Error with attention factor 1, against exact arithmetic of the given frequencies, or of the
/// formula of the rule that made them:
///
/// - float: 3e-8, correctly rounded except for near-ties
/// - double: 3e-16 + |position| (8e-29 + inv_freq 2^-98)
///
/// Another factor adds one rounding. At fractional positions, the angle of the fraction has a
/// relative error of 2^-51. A row's bits depend on its position alone; the last bit may differ
/// between CPUs with and without fused multiply-add. Throws std::invalid_argument at a position
/// that is NaN or does not fit int64. Immutable, except by cos_sin_table::write.
template <std::floating_point Real = float>
class cos_sin_rows {
 public:
  /// Makes rows at integer or fractional positions, [tokens].
  template <position_range Positions>
  cos_sin_rows(frequencies const& f, Positions const& positions)
      : cos_sin_rows(detail::layout_of(f), detail::checked_positions("cos_sin_rows", positions),
                     [&f, layout = detail::layout_of(f)](auto position, Real* row) {
                       detail::write_row_at(position, f.steps(), row, layout);
                     }) {}
  /// From a maker; of several axes, positions are [axes][tokens].
  template <position_range Positions>
  cos_sin_rows(row_maker const& maker, Positions const& positions) {
    detail::checked_positions("cos_sin_rows", positions);
    detail::require(std::size(positions) % maker.axes() == 0,
                    "cos_sin_rows: there must be a position on each of the ", maker.axes(),
                    " axes for each token, got ", std::size(positions), " positions");
    maker.write(positions, reshape(detail::layout_of(maker.frequencies()),
                                   std::size(positions) / maker.axes()));
  }
  /// With frequencies of each head; positions are [axes][tokens].
  template <position_range Positions>
  cos_sin_rows(mixed_row_maker const& maker, Positions const& positions) {
    detail::checked_positions("cos_sin_rows", positions);
    auto const all = static_cast<std::size_t>(std::size(positions));
    detail::require(all % maker.axes() == 0,
                    "cos_sin_rows: there must be a position on each of the ", maker.axes(),
                    " axes for each token, got ", all, " positions");
    maker.write(positions, reshape(maker.layout(), all / maker.axes(), maker.heads()));
  }
  /// For other makers of rows: write(position, row) writes the rotated pairs of a row.
  template <position_range Positions>
  cos_sin_rows(detail::row_layout const& layout, Positions const& positions, auto const& write) {
    auto* row = reshape(layout, std::size(positions));
    for (auto const p : positions) {
      write(detail::widened(p), row);
      row += 2 * pairs_;
    }
  }

  /// As rotate takes them. Like the spans below, valid while the rows live.
  cos_sin_view<Real> view() const noexcept {
    return {cos_sin_.data(), tokens(), pairs_, rotated_pairs_, heads_};
  }
  operator cos_sin_view<Real>() const& noexcept { return view(); }  ///< the same
  operator cos_sin_view<Real>() const&& = delete;  // posenc: what is viewed must have a name
  std::size_t tokens() const noexcept { return cos_sin_.empty() ? 0 : tokens_; }  ///< one row each
  std::size_t heads() const noexcept { return heads_; }  ///< 1: all heads share their rows
  std::size_t pairs() const noexcept { return pairs_; }  ///< of each row, those of frequency 0 too
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }  ///< 2 pairs()
  /// The cosines of a token, [pairs]; a vector if this is a temporary. Precondition, not checked:
  /// token < tokens().
  std::span<Real const> cos(std::size_t token) const& noexcept { return view().cos(token); }
  std::vector<Real> cos(std::size_t token) && { return copied(cos(token)); }  ///< of a temporary
  /// As cos.
  std::span<Real const> sin(std::size_t token) const& noexcept { return view().sin(token); }
  std::vector<Real> sin(std::size_t token) && { return copied(sin(token)); }  ///< of a temporary
  /// `count` rows from `first` on. Throws if they reach beyond the last.
  cos_sin_view<Real> slice_tokens(std::size_t first, std::size_t count) const& {
    return view().slice_tokens(first, count);
  }
  /// The rows of a temporary, as a copy.
  cos_sin_rows slice_tokens(std::size_t first, std::size_t count) && {
    auto const slice = view().slice_tokens(first, count);
    detail::line_vector<Real> of_slice;
    for (std::size_t head = 0; head < heads_ && count != 0; ++head) {
      auto const* const row = slice.of_head(head).cos(0).data();
      of_slice.insert(of_slice.end(), row, row + 2 * pairs_ * count);
    }
    cos_sin_ = std::move(of_slice);
    tokens_ = count;
    return std::move(*this);
  }

  /// Rows that undo these, attention factor and xPos gains included: (cos, -sin) / gain^2 per pair.
  /// Rotating by both restores the vectors, up to rounding.
  cos_sin_rows inverse() const {
    auto result = each_pair([this](Real& cos, Real& sin) {
      double const c = cos, s = sin, largest = std::max(std::abs(c), std::abs(s));
      auto const x = c / largest, y = s / largest,
                 gain = has_gains_ ? largest * std::sqrt(x * x + y * y) : gain_;
      // Two divisions, since the square of a gain may be beyond the range of doubles.
      cos = static_cast<Real>(detail::stored(c / gain) / gain);
      sin = static_cast<Real>(detail::stored(-s / gain) / gain);
    });
    result.gain_ = 1 / gain_;
    return result;
  }

  /// (cos, -sin): rotates back and multiplies by the attention factor once more; inverse() if that
  /// is 1. For gradients with respect to unrotated vectors, and for attention outputs whose values
  /// were rotated keys [DeepSeek-V4].
  cos_sin_rows transpose() const {
    return each_pair([](Real&, Real& sin) { sin = -sin; });
  }

  /// For other makers of rows: returns memory for `tokens` rows, in which the pairs that are not
  /// rotated are written. If memory is short, nothing changes.
  Real* reshape(detail::row_layout const& layout, std::size_t tokens, std::size_t heads = 1) {
    auto const alike = pairs_ == layout.pairs && heads_ == 1 &&
                       std::ranges::equal(rotated_pairs_, layout.rotated_pairs);
    auto const known = alike ? this->tokens() : 0, rows = heads * tokens;
    cos_sin_.reserve(rows * 2 * layout.pairs);
    rotated_pairs_.reserve(layout.rotated_pairs.size());
    cos_sin_.resize(rows * 2 * layout.pairs);
    rotated_pairs_.assign(layout.rotated_pairs.begin(), layout.rotated_pairs.end());
    pairs_ = layout.pairs;
    tokens_ = tokens;
    heads_ = heads;
    gain_ = layout.factor;
    has_gains_ = layout.has_gains;
    for (auto row = known; row < rows; ++row)
      layout.write_unrotated(cos_sin_.data() + 2 * pairs_ * row);
    return cos_sin_.data();
  }

 private:
  static std::vector<Real> copied(std::span<Real const> x) { return {x.begin(), x.end()}; }
  cos_sin_rows each_pair(auto const& change) const {
    auto result = *this;
    for (std::size_t i = 0; i < heads_ * tokens(); ++i) {
      auto* const row = result.cos_sin_.data() + 2 * pairs_ * i;
      for (auto const [first, last] : rotated_pairs_) {
        for (auto pair = first; pair < last; ++pair) change(row[pair], row[pairs_ + pair]);
      }
    }
    return result;
  }

  std::size_t pairs_ = 0, tokens_ = 0, heads_ = 1;
  detail::line_vector<Real> cos_sin_;  // [heads][tokens][2][pairs]
  std::vector<pair_range> rotated_pairs_;
  double gain_ = 1;  // row_layout::factor
  bool has_gains_ = false;
};

/// Rows as Hugging Face transformers and vLLM make them [modeling_llama.py,
/// LlamaRotaryEmbedding.forward]; at position one million, the exact ones differ by up to 6e-2:
///
///     angle = float(float(position) * float(inv_freq))
///     cos = float(float(cos angle) * float(attention_factor)),  and sin
///
/// Cosine and sine of this angle are correctly rounded except for near-ties; a float libm may
/// differ by an ULP, and so may an inv_freq computed in float: for the same bits, pass the model's
/// own. Throws as cos_sin_rows does.
template <position_range Positions>
cos_sin_rows<float> float_angle_rows(frequencies const& f, Positions const& positions) {
  auto const factor = static_cast<float>(f.attention_factor());
  auto const write = [&](auto position, float* row) {
    auto const p = static_cast<float>(position);
    for (auto const [first, last] : f.rotated_pairs()) {
      for (auto i = first; i < last; ++i) {
        // Below 2^127, so that one phase_step is within 2^-64 turns.
        auto const angle = detail::stored(p * static_cast<float>(f.inv_freq()[i]));
        auto const [cos, sin] =
            cos_sin(phase_step(std::abs(static_cast<double>(angle))).at(std::int64_t{1}));
        row[i] = detail::stored(static_cast<float>(cos) * factor);
        row[f.pairs() + i] = detail::stored(static_cast<float>(angle < 0 ? -sin : sin) * factor);
      }
    }
  };
  return {detail::layout_of(f), detail::checked_positions("float_angle_rows", positions), write};
}

}}  // namespace posenc
