// Blocks of 32 dims, as ggml has them: a scale, then a code for each dim.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/cache/detail/group_extremes.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/nibbles.hpp"
#include "posenc/simd/quotient.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

inline constexpr std::size_t block_dims = 32;

/// The bytes of a head. Throws unless head_dim is a multiple of 32.
constexpr std::size_t bytes_in_blocks(char const* format, std::size_t head_dim,
                                      std::size_t of_block) {
  require(head_dim % block_dims == 0, format, ": head_dim must be a multiple of 32, got ",
          head_dim);
  return head_dim / block_dims * of_block;
}
/// Calls encode(numbers, blocks, to) for the heads: once if they follow one another.
POSENC_ALWAYS_INLINE inline void encode_in_blocks(heads_to_encode& heads, std::size_t of_block,
                                                  auto const& encode) noexcept {
  auto const blocks = heads.head_dim / block_dims;
  if (heads.stride == static_cast<std::ptrdiff_t>(heads.head_dim) &&
      heads.to_stride == static_cast<std::ptrdiff_t>(blocks * of_block))
    return encode(heads.numbers, blocks * heads.count, heads.to);
  for (; heads.count != 0; heads.next()) encode(heads.numbers, blocks, heads.to);
}
/// Reads a head; load(Lanes(), i): its numbers from dim i on.
POSENC_ALWAYS_INLINE inline void decode_blocks(std::span<float> head, auto const& load) noexcept {
  for (std::size_t i = 0; i < head.size(); i += code_lanes::size)
    code_lanes::store(head.data() + i, load(code_lanes(), i));
}

/// Codes of 4 or 5 bits: half(d); half(m) if codes count from a least number; the fifth bits, of 32
/// codes; then byte j, with the low 4 bits of code j and, above them, of code j + 16.
template <std::uint32_t Bits, bool HasLeast>
struct few_bits {
  static constexpr bool has_fifth = Bits == 5, has_least = HasLeast;
  static constexpr std::int32_t greatest = (1 << Bits) - 1;  ///< code
  static constexpr std::size_t least_at = 2, fifths_at = has_least ? 4 : 2,
                               codes_at = fifths_at + (has_fifth ? 4 : 0),
                               bytes = codes_at + block_dims / 2;
};

/// Bit i: the fifth bit of code i, of 32.
inline std::uint32_t fifth_bits(std::byte const* codes) noexcept {
  // The product moves the lowest bit of byte j to bit 56 + j.
  constexpr std::uint64_t by =
      std::endian::native == std::endian::little ? 0x0102'0408'1020'4080 : 0x8040'2010'0804'0201;
  std::uint32_t result = 0;
  for (std::size_t i = 0; i < block_dims; i += 8) {
    auto const each = (number_at<std::uint64_t>(codes + i) >> 4) & 0x0101'0101'0101'0101;
    result |= static_cast<std::uint32_t>(each * by >> 56) << i;
  }
  return result;
}
/// Writes the codes of 32 numbers.
template <class Block>
POSENC_ALWAYS_INLINE inline void write_block(float const* x, std::byte* block,
                                             auto const& code) noexcept {
  constexpr auto half = block_dims / 2;
  auto* const to = block + Block::codes_at;
  if constexpr (Block::has_fifth) {
    std::byte codes[block_dims];
    write_codes(std::span(x, block_dims), codes, code);
    put(block + Block::fifths_at, fifth_bits(codes));
    for (std::size_t j = 0; j < half; ++j)
      to[j] = (codes[j] & std::byte{15}) | codes[j + half] << 4;
  } else {
    write_nibbles(
        half, to,
        [x]<class Lanes>(Lanes, std::size_t j)
            POSENC_INLINED { return std::pair(Lanes::load(x + j), Lanes::load(x + j + half)); },
        code);
  }
}
/// (code - zero) d of dim i and those after it, of half a block.
template <class Block, class Lanes>
POSENC_ALWAYS_INLINE inline auto load_block(std::byte const* block, std::size_t i,
                                            float zero) noexcept {
  auto const bytes =
      load_codes<std::uint8_t, Lanes>(block + Block::codes_at + i % (block_dims / 2));
  bool const are_high = i >= block_dims / 2;
  auto const d = half_everywhere<Lanes>(block);
  if constexpr (Block::has_fifth) {
    auto const fifths = number_at<std::uint32_t>(block + Block::fifths_at) >> i;
    return read_with_fifths<Lanes>(bytes, are_high, fifths, zero, d);
  } else {
    return read_nibbles<Lanes>(bytes, are_high, zero, d);
  }
}

using block_bits = code_bits<group_numbers>;
POSENC_ALWAYS_INLINE inline auto magnitude_bits(group_numbers const& x) noexcept {
  return block_bits::bits(block_bits::as_bits(x) & block_bits::bits(0x7fff'ffffu));
}
/// x, or NaN where a magnitude is that of infinity or NaN.
POSENC_ALWAYS_INLINE inline group_numbers if_finite(block_bits::bits const& magnitude,
                                                    group_numbers const& x) noexcept {
  using u32 = block_bits::bits;
  return block_bits::as_number(
      where_below(magnitude, u32(0x7f80'0000u), block_bits::as_bits(x), u32(0x7fc0'0000u)));
}
/// 1 / x, or 0 where x is 0.
POSENC_ALWAYS_INLINE inline group_numbers inverse_or_0(group_numbers const& x) noexcept {
  using u32 = block_bits::bits;
  return block_bits::as_number(where_below(magnitude_bits(x), u32(1u), u32(0u),
                                           block_bits::as_bits(quotient(group_numbers(1.0f), x))));
}

/// The number of the largest magnitude in each block, the first of several; +0 of zeros.
struct block_extremes {
  group_numbers most;
  std::size_t step;

  POSENC_ALWAYS_INLINE explicit block_extremes(number_groups const& blocks) noexcept {
    group_ranges const range(blocks);
    step = range.step;
    most = block_bits::as_number(
        where_below(magnitude_bits(range.most), magnitude_bits(range.least),
                    block_bits::as_bits(range.least), block_bits::as_bits(range.most)));
    stored_groups<> const least(range.least, step), greatest(range.most, step);
    stored_groups<> all(most, step);
    for (std::size_t i = 0; i < blocks.count; ++i)
      if (magnitude(least[i]) == magnitude(greatest[i]))
        all.lanes[i * step] =
            first_of(blocks.first + static_cast<std::ptrdiff_t>(i) * blocks.stride);
    most = code_lanes::load(all.lanes);
  }

 private:
  static std::uint32_t magnitude(float x) noexcept { return bits_as<std::uint32_t>(x) << 1; }
  static float first_of(float const* x) noexcept {
    float extreme = 0;
    for (std::size_t i = 0; i < block_dims; ++i)
      if (magnitude(extreme) < magnitude(x[i])) extreme = x[i];
    return extreme;
  }
};

/// x towards zero, at most the greatest code; 0 of NaN and infinity, as x86 converts them.
template <class Block, class Number>
POSENC_ALWAYS_INLINE inline auto code_of(Number const& x) noexcept {
  auto const code = truncated_to_integer(x);
  using integers = std::remove_cvref_t<decltype(code)>;
  return less(integers(code & integers(0xff)), integers(Block::greatest));
}
/// Writes blocks whose codes count from an extreme m, that of code 0:
///     d = m / -zero;   code = x (1 / d) + zero + 0.5
template <class Block>
void write_from_extreme(float const* x, std::size_t count, std::byte* to) noexcept {
  constexpr auto zero = static_cast<float>(Block::greatest + 1) / 2;
  while (count != 0) {
    auto const some = std::min(count, number_groups::most);
    block_extremes const m({x, block_dims, block_dims, some});
    auto const d = if_finite(magnitude_bits(m.most), m.most * group_numbers(-1 / zero));
    stored_groups<> const scales(d, m.step), inverses(inverse_or_0(d), m.step);
    for (std::size_t i = 0; i < some; ++i, x += block_dims, to += Block::bytes) {
      put(to, half(scales[i]).bits);
      write_block<Block>(x, to, [by = inverses[i]]<class Number>(Number const& y) POSENC_INLINED {
        return code_of<Block>(Number(product(y, by) + Number(zero + 0.5f)));
      });
    }
    count -= some;
  }
}
/// Writes blocks whose codes count from the least number m:
///     d = (most - m) / greatest code;   code = (x - m) (1 / d) + 0.5
template <class Block>
void write_from_least(float const* x, std::size_t count, std::byte* to) noexcept {
  while (count != 0) {
    auto const some = std::min(count, number_groups::most);
    group_ranges const range({x, block_dims, block_dims, some});
    auto const d = if_finite(
        more_of(magnitude_bits(range.most), magnitude_bits(range.least)),
        quotient(range.most - range.least, group_numbers(static_cast<float>(Block::greatest))));
    stored_groups<> const scales(d, range.step), inverses(inverse_or_0(d), range.step);
    stored_groups<> all_least(range.least, range.step);
    for (std::size_t i = 0; i < some; ++i, x += block_dims, to += Block::bytes) {
      // ggml takes the first zero, a range -0.
      auto const least = all_least[i] == 0 ? *std::find(x, x + block_dims, 0.0f) : all_least[i];
      put(to, half(scales[i]).bits), put(to + Block::least_at, half(least).bits);
      write_block<Block>(
          x, to, [least, by = inverses[i]]<class Number>(Number const& y) POSENC_INLINED {
            return code_of<Block>(Number(product(Number(y - Number(least)), by) + Number(0.5f)));
          });
    }
    count -= some;
  }
}

}}}  // namespace posenc::detail

POSENC_QUIET_END
