// Layouts: the places of the two dims of a pair within a rotary block.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Pairs (i, i + n/2) of a block of n dims: x0 x1 x2 x3 y0 y1 y2 y3. Also called "half-split",
/// "rotate_half", NeoX. Llama in Hugging Face's weights, Gemma, Qwen, the p-RoPE paper's code.
struct halves {
  /// The index of x of a pair in the block.
  static constexpr std::size_t x_index(std::size_t pair, std::size_t) noexcept { return pair; }
  /// The index of y of a pair in the block.
  static constexpr std::size_t y_index(std::size_t pair, std::size_t pairs) noexcept {
    return pairs + pair;
  }

  /// x and y of neighbouring pairs from `pair` on, as many as a register of Lanes holds.
  template <class Lanes, class T>
  POSENC_ALWAYS_INLINE static void load(T const* block, std::size_t pair, std::size_t pairs,
                                        typename Lanes::number& x,
                                        typename Lanes::number& y) noexcept {
    x = Lanes::load(block + pair);
    y = Lanes::load(block + pairs + pair);
  }
  /// Likewise, from registers to memory.
  template <class Lanes, class T>
  POSENC_ALWAYS_INLINE static void store(T* block, std::size_t pair, std::size_t pairs,
                                         typename Lanes::number const& x,
                                         typename Lanes::number const& y) noexcept {
    Lanes::store(block + pair, x), Lanes::store(block + pairs + pair, y);
  }
};

/// Pairs (2i, 2i + 1): x0 y0 x1 y1 x2 y2 x3 y3. [Su 2021]; GPT-J, Llama in Meta's weights, GLM.
struct interleaved {
  /// The index of x of a pair in the block.
  static constexpr std::size_t x_index(std::size_t pair, std::size_t) noexcept { return 2 * pair; }
  /// The index of y of a pair in the block.
  static constexpr std::size_t y_index(std::size_t pair, std::size_t) noexcept {
    return 2 * pair + 1;
  }

  /// x and y of neighbouring pairs from `pair` on, as many as a register of Lanes holds.
  template <class Lanes, class T>
  POSENC_ALWAYS_INLINE static void load(T const* block, std::size_t pair, std::size_t,
                                        typename Lanes::number& x,
                                        typename Lanes::number& y) noexcept {
    Lanes::load_pairs(block + 2 * pair, x, y);
  }
  /// Likewise, from registers to memory.
  template <class Lanes, class T>
  POSENC_ALWAYS_INLINE static void store(T* block, std::size_t pair, std::size_t,
                                         typename Lanes::number const& x,
                                         typename Lanes::number const& y) noexcept {
    Lanes::store_pairs(block + 2 * pair, x, y);
  }
};

/// halves or interleaved.
template <class L>
concept pair_layout = std::same_as<L, halves> || std::same_as<L, interleaved>;

}}  // namespace posenc
