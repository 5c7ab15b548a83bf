// Which dims of a head are rotated.
#pragma once

#include <cstddef>
#include <optional>

#include "posenc/core/heads_view.hpp"

namespace posenc {

/// The rotary block of a head of n dims, of which r are rotated and the others left alone:
///
///     first()    rrrr....     GPT-NeoX, GLM, Phi
///     last()     ....rrrr     DeepSeek's heads, whose first dims carry no position
///     from(2)    ..rrrr..
class rotary_block {
 public:
  static constexpr rotary_block first() noexcept { return rotary_block(0); }
  static constexpr rotary_block last() noexcept { return rotary_block(std::nullopt); }
  static constexpr rotary_block from(std::size_t dim) noexcept { return rotary_block(dim); }

  /// The block of every head. Throws std::invalid_argument where a head is too short for it.
  template <class T>
  heads_view<T> of(heads_view<T> const& heads, std::size_t rotary_dim) const {
    auto const head_dim = heads.head_dim(), offset = first_dim_.value_or(0);
    detail::require(offset <= head_dim && rotary_dim <= head_dim - offset,
                    "rotary_block: the rotary block must lie within the head, got dims ", offset, " to ", offset + rotary_dim,
                    " of head_dim ", head_dim);
    return heads.slice_dims(first_dim_.value_or(head_dim - rotary_dim), rotary_dim);
  }

 private:
  constexpr explicit rotary_block(std::optional<std::size_t> first_dim) noexcept : first_dim_(first_dim) {}
  std::optional<std::size_t> first_dim_;  // none: as late as fits
};

}  // namespace posenc
