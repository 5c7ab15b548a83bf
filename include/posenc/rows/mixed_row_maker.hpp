// Rows for frequencies that differ by head, in which a pair rotates by several axes at once.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/frequency/phase_step.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/detail/phase_lanes.hpp"
#include "posenc/rows/detail/row_writer.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// The sum over axes of at(axis) times the frequency of each pair: phases of a register of pairs.
/// steps: [axes], of magnitudes; signs: [axes][stride], all ones where a frequency is negative.
template <class At>
struct phases_by_all_axes {
  phase_steps const* steps;
  phase const* signs;
  std::size_t axes, stride;
  At at;

  POSENC_ALWAYS_INLINE phase_lanes::bits operator()(std::size_t pair) const noexcept {
    phase_lanes::bits sum(phase{0});
    for (std::size_t axis = 0; axis < axes; ++axis) {
      auto const position = at(axis);
      phases_of_steps const of_axis(steps[axis]);
      auto angle = of_axis.at_whole(phase_lanes::bits(static_cast<phase>(whole_part(position))),
                                    pair, false);
      if constexpr (std::floating_point<decltype(at(0))>)
        angle = angle + of_axis.at_fraction(position - std::floor(position), pair);
      auto const sign = phase_lanes::load_bits(signs + axis * stride + pair);
      sum = sum + ((angle ^ sign) - sign);
    }
    return sum;
  }
};

}  // namespace detail

/// Frequencies of each head on several axes, and rows at positions on all of them:
///
///     angle of pair i of head h = sum over axes a of position[a] inv_freq[h][a][i]
///
///     mixed_row_maker const maker(heads, 2, inv_freq);    on two axes
///     cos_sin_rows const rows(maker, positions);          [x of all tokens, y of all tokens]
///     rotate<interleaved>(q, rows);                       heads or a multiple of them
///
/// RoPE-Mixed has them [Heo 2024, arXiv 2403.13298, section 3.2]. KataGo's learned nets have
/// frequencies for each kv head, which its query heads share. AdaRoPE has frequencies for each head
/// on one axis. An angle is a sum of exact phases, one for each axis, so rows are as exact as those
/// of cos_sin_rows. A maker is immutable, so threads may share it.
class mixed_row_maker {
 public:
  /// inv_freq: [heads][axes][pairs], in radians per position; they may be negative. Throws
  /// std::invalid_argument unless there are heads, axes and pairs, magnitudes are at most 2^64, and
  /// attention_factor is finite and positive.
  mixed_row_maker(std::size_t heads, std::size_t axes, std::vector<double> inv_freq,
                  double attention_factor = 1)
      : heads_(heads), axes_(axes), inv_freq_(std::move(inv_freq)), factor_(attention_factor) {
    detail::require(heads > 0 && axes > 0,
                    "mixed_row_maker: there must be a head and an axis at least, got ", heads,
                    " heads and ", axes, " axes");
    detail::require(
        !inv_freq_.empty() && inv_freq_.size() % heads == 0 && inv_freq_.size() / heads % axes == 0,
        "mixed_row_maker: there must be as many frequencies for each of ", heads, " heads and ",
        axes, " axes, got ", inv_freq_.size());
    detail::require_positive("mixed_row_maker", "attention_factor", factor_);
    pairs_ = inv_freq_.size() / heads / axes;
    std::vector<double> magnitudes(pairs_);
    signs_.assign(heads * axes * stride(), 0);
    for (std::size_t series = 0; series < heads * axes; ++series) {
      for (std::size_t i = 0; i < pairs_; ++i) {
        auto const f = inv_freq_[series * pairs_ + i];
        detail::require(is_finite(f) && std::abs(f) <= 0x1p64,
                        "mixed_row_maker: inv_freq must be in [-2^64, 2^64] radians per position, "
                        "got ",
                        f, " at pair ", i, " of head ", series / axes, " on axis ", series % axes);
        magnitudes[i] = std::abs(f);
        if (f < 0) signs_[series * stride() + i] = ~phase{0};
      }
      steps_.emplace_back(magnitudes);
    }
    rotated_pairs_ = detail::ranges_of(pairs_, [this](std::size_t i) {
      for (auto at = i; at < inv_freq_.size(); at += pairs_)
        if (inv_freq_[at] != 0) return true;
      return factor_ != 1;
    });
  }

  std::size_t heads() const noexcept { return heads_; }           ///< with frequencies
  std::size_t axes() const noexcept { return axes_; }             ///< of each token's position
  std::size_t pairs() const noexcept { return pairs_; }           ///< of each row
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }  ///< also the length of a row
  double attention_factor() const noexcept { return factor_; }    ///< on queries and on keys
  /// [heads][axes][pairs], as given.
  std::span<double const> inv_freq() const& noexcept { return inv_freq_; }
  std::vector<double> inv_freq() && noexcept { return std::move(inv_freq_); }  ///< of a temporary

  /// positions: [axes][tokens]; memory: [heads][tokens][2][pairs], of floats or doubles. As
  /// row_maker's write.
  template <std::floating_point Real, position_range Positions>
  cos_sin_view<Real> write(Positions const& positions, Real* memory) const& noexcept {
    auto const tokens = static_cast<std::size_t>(std::size(positions)) / axes_;
    auto* row = memory;
    for (std::size_t head = 0; head < heads_; ++head) {
      auto position = std::begin(positions);
      for (std::size_t token = 0; token < tokens; ++token, ++position, row += rotary_dim()) {
        layout().write_unrotated(row);
        auto const at = [=](std::size_t axis) {
          return detail::widened(*std::next(position, static_cast<std::ptrdiff_t>(axis * tokens)));
        };
        detail::write_row(row, layout(),
                          detail::phases_by_all_axes<decltype(at)>{
                              steps_.data() + head * axes_, signs_.data() + head * axes_ * stride(),
                              axes_, stride(), at});
      }
    }
    return {memory, tokens, pairs_, rotated_pairs_, heads_};
  }
  /// A temporary writes, and returns no view: the view would outlive its maker.
  template <std::floating_point Real, position_range Positions>
  void write(Positions const& positions, Real* memory) const&& {
    write(positions, memory);
  }

  /// For cos_sin_rows: the common part of all rows. Valid while this lives.
  detail::row_layout layout() const noexcept { return {pairs_, rotated_pairs_, factor_}; }

 private:
  std::size_t stride() const noexcept { return pairs_ + phase_steps::padding; }

  std::size_t heads_, axes_, pairs_ = 0;
  std::vector<double> inv_freq_;
  double factor_;
  std::vector<phase_steps> steps_;    // [heads][axes]
  detail::line_vector<phase> signs_;  // [heads][axes][stride]
  std::vector<pair_range> rotated_pairs_;
};

}}  // namespace posenc
