// A view of rows of cosines and sines: what the rotation reads.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// A view of rows in memory that others own: one for each token; or, if frequencies differ by head,
/// one for each token and head: of H heads that are rotated, head h has row h / (H / heads()). Real
/// is float, or double to rotate doubles.
template <std::floating_point Real>
class cos_sin_view {
 public:
  /// cos_sin: [heads][tokens][2][pairs], the cosines of a token before its sines.
  cos_sin_view(Real const* cos_sin, std::size_t tokens, std::size_t pairs,
               viewed<pair_range> rotated_pairs, std::size_t heads = 1) noexcept
      : cos_sin_(cos_sin),
        tokens_(tokens),
        pairs_(pairs),
        rotated_pairs_(rotated_pairs),
        heads_(heads),
        of_head_(tokens) {}

  std::size_t tokens() const noexcept { return tokens_; }  ///< one row each, of each head
  std::size_t heads() const noexcept { return heads_; }    ///< 1: all heads share their rows
  std::size_t pairs() const noexcept { return pairs_; }  ///< of each row, those of frequency 0 too
  std::size_t rotary_dim() const noexcept { return 2 * pairs_; }  ///< 2 pairs()
  /// The pairs that rotate changes; all others rotate by 0.
  std::span<pair_range const> rotated_pairs() const noexcept { return rotated_pairs_; }
  /// The row of a token, [pairs], of head 0. Precondition, not checked: token < tokens().
  std::span<Real const> cos(std::size_t token) const noexcept {
    return {cos_sin_ + 2 * pairs_ * token, pairs_};
  }
  /// The row of a token, [pairs], of head 0. Precondition, not checked: token < tokens().
  std::span<Real const> sin(std::size_t token) const noexcept {
    return {cos_sin_ + 2 * pairs_ * token + pairs_, pairs_};
  }

  /// The rows of `count` tokens from `first` on, to split work by tokens.
  cos_sin_view slice_tokens(std::size_t first, std::size_t count) const {
    detail::require(first <= tokens_ && count <= tokens_ - first,
                    "cos_sin_view: a slice of tokens must lie within [0, ", tokens_,
                    "), got first ", first, ", count ", count);
    auto result = *this;
    result.cos_sin_ += 2 * pairs_ * first, result.tokens_ = count;
    return result;
  }
  /// The rows of one head. Precondition, not checked: head < heads().
  cos_sin_view of_head(std::size_t head) const noexcept {
    auto result = *this;
    result.cos_sin_ += 2 * pairs_ * of_head_ * head, result.heads_ = 1;
    return result;
  }

 private:
  Real const* cos_sin_;
  std::size_t tokens_, pairs_;
  std::span<pair_range const> rotated_pairs_;
  std::size_t heads_, of_head_;  // of_head_: rows from a head to the next
};

}}  // namespace posenc
