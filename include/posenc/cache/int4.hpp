// Formats of 4-bit integers, byte for byte as engines store them: byte j has codes 2 j, in its low
// bits, and 2 j + 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "posenc/cache/detail/group_extremes.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/multiply_add.hpp"
#include "posenc/simd/nibbles.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Numbers 2 j and 2 j + 1 of a head, in two registers.
POSENC_ALWAYS_INLINE inline auto neighbours(float const* x) noexcept {
  return [x]<class Lanes>(Lanes, std::size_t j) POSENC_INLINED {
    typename Lanes::number even, odd;
    Lanes::load_pairs(x + 2 * j, even, odd);
    return std::pair(even, odd);
  };
}

/// Code - zero of 2 j, 2 j + 1 ... from i = 2 j on; of one alone, any i.
template <class Lanes>
POSENC_ALWAYS_INLINE inline typename Lanes::number neighbours_from(std::byte const* head,
                                                                   std::size_t i,
                                                                   float zero) noexcept {
  return read_nibbles<Lanes>(load_nibbles<Lanes>(head, i), false, zero, typename Lanes::number(1));
}
/// x[i] = (code i - zero) scale.
inline void read_neighbours(std::byte const* from, std::span<float> x, float zero,
                            float scale) noexcept {
  in_lanes(x.size(), [&]<class Lanes>(Lanes, std::size_t i) POSENC_INLINED {
    Lanes::store(x.data() + i, product(neighbours_from<Lanes>(from, i, zero), scale));
  });
}
/// The nearest integer, ties up, within [0, 15].
template <class Number>
POSENC_ALWAYS_INLINE inline auto nearest_nibble(Number const& x) noexcept {
  return limited(truncated_to_integer(Number(within_512(x) + Number(0.5f))), 0, 15);
}

}  // namespace detail

/// vLLM's int4 with a scale of each token and head [int4_per_token_head]:
///
///     scale = max((most - least) / 15, 1e-6);   zero = -least / scale, to the nearest in [0, 15]
///     code = x (1 / scale) + zero, to the nearest in [0, 15];   read as (code - zero) scale
///
/// head_dim / 2 bytes, and elsewhere one float: the scale, with zero in its last 4 bits, which read
/// as 0. To the nearest: + 0.5, towards zero. Numbers that all have one sign are cut to 15 steps
/// from 0. A head with a number that is not finite, or a range, becomes NaN as a whole. x (1 /
/// scale) + zero is one multiply-add, as GPUs have it; on CPUs without, a code may differ by one.
/// vLLM stores heads after a random Hadamard transform, and divides by approximation.
struct int4_per_head {
  /// The bytes of a head. Throws unless head_dim is even.
  std::size_t bytes(std::size_t head_dim) const {
    detail::require(head_dim % 2 == 0, "int4_per_head: head_dim must be even, got ", head_dim);
    return head_dim / 2;
  }
  std::size_t scale_bytes(std::size_t) const noexcept { return 4; }  ///< of a head
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to, std::byte* scales) const noexcept {
    detail::heads_to_encode heads(head, to, scales);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    while (heads.count != 0) {
      auto const groups = detail::next_heads(heads);
      detail::group_ranges const range(groups);
      using numbers = detail::group_numbers;
      using b = detail::code_bits<numbers>;
      using u32 = b::bits;
      auto const step = detail::quotient(range.most - range.least, numbers(15));
      auto const least_scale = b::as_bits(numbers(1e-6f));
      auto const bits = detail::more_of(b::as_bits(step) & u32(0x7fff'ffffu), least_scale);
      auto const scale =
          b::as_number(detail::where_below(bits, u32(0x7f80'0000u), bits, u32(0x7fc0'0000u)));
      auto const opposite = b::as_number(b::as_bits(range.least) ^ u32(0x8000'0000u));
      auto const zero = detail::nearest_nibble(detail::quotient(opposite, scale));
      detail::stored_groups<> const zeros(detail::float_of(zero), range.step),
          inverses(detail::quotient(numbers(1.0f), scale), range.step),
          scales(b::as_number((b::as_bits(scale) & u32(0xffff'fff0u)) |
                              detail::bits_as<std::uint32_t>(zero)),
                 range.step);
      for (std::size_t i = 0; i < groups.count; ++i, heads.next()) {
        detail::put(heads.scales, scales[i]);
        detail::write_nibbles(
            heads.head_dim / 2, heads.to, detail::neighbours(heads.numbers),
            [zero = zeros[i], inverse = inverses[i]]<class Number>(Number const& x) POSENC_INLINED {
              return detail::nearest_nibble(detail::multiply_add(x, Number(inverse), Number(zero)));
            });
      }
    }
  }
  /// Reads a head.
  void decode(std::byte const* from, std::byte const* scales,
              std::span<float> head) const noexcept {
    auto const bits = detail::number_at<std::uint32_t>(scales);
    detail::read_neighbours(from, head, static_cast<float>(bits & 15u),
                            detail::bit_cast<float>(bits & 0xffff'fff0u));
  }
  /// Numbers from dim i on.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::byte const* scales,
                                                          std::size_t i) noexcept {
    auto const bits = detail::number_at<std::uint32_t>(scales);
    return detail::read_nibbles<Lanes>(
        detail::load_nibbles<Lanes>(head, i), false, static_cast<float>(bits & 15u),
        typename Lanes::number(detail::bit_cast<float>(bits & 0xffff'fff0u)));
  }
};

/// int4 with one scale for a tensor, which the model brings; MLAS in ONNX Runtime [qkv_quant.cpp,
/// QuantizeRowInt4]:
///
///     code = 8 + x (1 / scale), to the nearest, ties to even, within [-8, 7];
///     read as (code - 8) scale
///
/// head_dim / 2 bytes. A scale of 0 writes as 1 does, and reads 0. NaN gives 15.
/// MLAS's scales per channel have the same bytes: with a scale of 1 here, multiply keys and values
/// by 1 / scale before they are stored, queries and outputs by scale.
struct int4_static {
  float scale = 1;  ///< of the tensor

  /// The bytes of a head. Throws unless the scale is finite and not negative, and head_dim even.
  std::size_t bytes(std::size_t head_dim) const {
    detail::require(is_finite(scale) && scale >= 0,
                    "int4_static: the scale must be finite and not negative, got ", scale);
    detail::require(head_dim % 2 == 0, "int4_static: head_dim must be even, got ", head_dim);
    return head_dim / 2;
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    auto const inverse = scale != 0 ? 1 / scale : 1;
    auto const code = [inverse](auto const& number) POSENC_INLINED {
      auto const x = detail::within_512(detail::product(number, inverse));
      auto const nearest =
          detail::limited(detail::nearest(x), detail::nearest_of_0 - 8, detail::nearest_of_0 + 7);
      using integers = std::remove_cvref_t<decltype(nearest)>;
      return integers(nearest - integers(detail::nearest_of_0 - 8));
    };
    detail::write_nibbles(head.size() / 2, to, detail::neighbours(head.data()), code);
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::read_neighbours(from, head, 8, scale);
  }
  /// Codes less 8 from dim i on, to be multiplied by a factor.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    return detail::neighbours_from<Lanes>(head, i, 8);
  }
  /// The factor of every head.
  float factor() const noexcept { return scale; }
};

}}  // namespace posenc
