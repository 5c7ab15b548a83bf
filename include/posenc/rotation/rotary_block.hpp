// Which dims of a head are rotated.
#pragma once

#include <cstddef>
#include <limits>

#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Which r dims of a head of n are rotated; the others (dots) are not:
///
///     first()    rrrr....     GPT-NeoX, GLM, Phi
///     last()     ....rrrr     DeepSeek, whose first dims have no position
///     from(2)    ..rrrr..
class rotary_block {
 public:
  static constexpr rotary_block first() noexcept { return rotary_block(0); }  ///< dims [0, r)
  /// Dims [n - r, n).
  static constexpr rotary_block last() noexcept { return rotary_block(as_late_as_fits); }
  /// Dims [dim, dim + r).
  static constexpr rotary_block from(std::size_t dim) noexcept {
    return rotary_block(dim < as_late_as_fits ? dim : as_late_as_fits - 1);
  }

  /// Whether the head is long enough for it.
  constexpr bool fits(std::size_t head_dim, std::size_t rotary_dim) const noexcept {
    auto const offset = first_dim_ == as_late_as_fits ? 0 : first_dim_;
    return offset <= head_dim && rotary_dim <= head_dim - offset;
  }
  /// The first dim of the block. Throws std::invalid_argument if the head is too short for it.
  constexpr std::size_t first_dim(std::size_t head_dim, std::size_t rotary_dim) const {
    auto const offset = first_dim_ == as_late_as_fits ? 0 : first_dim_;
    detail::require(fits(head_dim, rotary_dim),
                    "rotary_block: the rotary block must lie within the head, got dims ", offset,
                    " to ", offset + rotary_dim, " of head_dim ", head_dim);
    return first_dim_ == as_late_as_fits ? head_dim - rotary_dim : offset;
  }

  /// A view of the block of every head.
  template <class T>
  heads_view<T> of(heads_view<T> const& heads, std::size_t rotary_dim) const {
    return heads.slice_dims(first_dim(heads.head_dim(), rotary_dim), rotary_dim);
  }

 private:
  static constexpr auto as_late_as_fits = std::numeric_limits<std::size_t>::max();
  constexpr explicit rotary_block(std::size_t first_dim) noexcept : first_dim_(first_dim) {}
  std::size_t first_dim_;
};

}}  // namespace posenc
