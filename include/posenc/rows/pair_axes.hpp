// Which axis of a position each pair rotates by: time, height, width.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One axis per pair, counted from 0. Immutable.
class pair_axes {
 public:
  /// axis_of_pair: [pairs], from 0. Throws std::invalid_argument unless there is at least one pair,
  /// and for an axis of 256 or more.
  explicit pair_axes(std::vector<std::size_t> axis_of_pair)
      : axis_of_pair_(std::move(axis_of_pair)) {
    detail::require(!axis_of_pair_.empty(), "pair_axes: there must be at least one pair, got none");
    axes_ = *std::ranges::max_element(axis_of_pair_) + 1;
    detail::require(axes_ <= 256, "pair_axes: an axis must be below 256, got ", axes_ - 1);
  }

  std::size_t pairs() const noexcept { return axis_of_pair_.size(); }  ///< as given
  std::size_t axes() const noexcept { return axes_; }  ///< 1 + the largest axis of any pair
  /// The axis of a pair. Precondition, not checked: pair < pairs().
  std::size_t axis(std::size_t pair) const noexcept { return axis_of_pair_[pair]; }

  friend bool operator==(pair_axes const&, pair_axes const&) = default;

 private:
  std::vector<std::size_t> axis_of_pair_;
  std::size_t axes_;
};

namespace detail {

/// The sum of all sections. Throws unless each has at most 2^24 pairs and they have `least`.
inline std::size_t sum_of_sections(char const* what, std::span<std::size_t const> sections,
                                   std::size_t least = 0) {
  std::size_t sum = 0;
  for (auto const section : sections) {
    require(section <= std::size_t{1} << 24, what, ": a section must have at most 2^24 pairs, got ",
            section);
    sum += section;
  }
  require(sum >= least, what, ": the sections must not all be 0");
  return sum;
}

inline pair_axes axes_of(std::size_t pairs, auto const& axis_of) {
  std::vector<std::size_t> axes(pairs);
  for (std::size_t i = 0; i < pairs; ++i) axes[i] = axis_of(i);
  return pair_axes(std::move(axes));
}

}  // namespace detail

/// Sections of neighbouring pairs, one section per axis: {16, 24, 24} gives ttt...hhh...www...
/// Qwen2-VL uses it with halves, GLM-4V interleaved.
inline pair_axes contiguous_axes(list_view<std::size_t> sections) {
  std::vector<std::size_t> axes;
  axes.reserve(detail::sum_of_sections("contiguous_axes", sections));
  for (std::size_t axis = 0; axis < sections.size(); ++axis)
    axes.insert(axes.end(), sections[axis], axis);
  return pair_axes(std::move(axes));
}

/// One block of dims (not pairs) per axis, for axial frequencies: {16, 56, 56} gives 8, 28 and 28
/// pairs. Throws std::invalid_argument unless all dims are even.
inline pair_axes axial_axes(list_view<std::size_t> dims) {
  std::vector<std::size_t> sections(dims.begin(), dims.end());
  for (auto& section : sections) {
    detail::require(section % 2 == 0, "axial_axes: the dims of an axis must be even, got ",
                    section);
    section /= 2;
  }
  return contiguous_axes(sections);
}

/// Alternating axes, thwthwthw...tt, as in Qwen3-VL: pair i has axis i % 3 while that axis's
/// section lasts, then axis 0. {24, 20, 20} gives thw 20 times, then tttt. Throws
/// std::invalid_argument unless there are three sections. [modeling_qwen3_vl.py,
/// apply_interleaved_mrope]
inline pair_axes interleaved_axes(list_view<std::size_t> sections) {
  detail::require(sections.size() == 3, "interleaved_axes: there must be three sections, got ",
                  sections.size());
  return detail::axes_of(detail::sum_of_sections("interleaved_axes", sections),
                         [&](std::size_t i) { return i < 3 * sections[i % 3] ? i % 3 : 0; });
}

/// ggml's GGML_ROPE_TYPE_MROPE: sections of four axes, t h w e, repeated to the last pair. Throws
/// std::invalid_argument if all sections are 0. [ggml, ops.cpp]
inline pair_axes ggml_axes(std::array<std::size_t, 4> const& sections, std::size_t pairs) {
  auto const all = detail::sum_of_sections("ggml_axes", sections, 1);
  auto const h = sections[0], w = h + sections[1], e = w + sections[2];  // their first pairs
  return detail::axes_of(pairs, [=](std::size_t i) -> std::size_t {
    auto const sector = i % all;
    return sector < h ? 0 : sector < w ? 1 : sector < e ? 2 : 3;
  });
}

/// ggml's GGML_ROPE_TYPE_IMROPE: alternating; where the section of an axis has ended, axis 3, not
/// axis 0 as above: with Qwen3-VL's {24, 20, 20}, pairs 61 and 62 differ. [ggml, ops.cpp]
inline pair_axes ggml_interleaved_axes(std::array<std::size_t, 4> const& sections,
                                       std::size_t pairs) {
  auto const all = detail::sum_of_sections("ggml_interleaved_axes", sections, 1);
  return detail::axes_of(pairs, [&](std::size_t i) {
    auto const sector = i % all;
    return sector < 3 * sections[sector % 3] ? sector % 3 : 3;
  });
}

}}  // namespace posenc
