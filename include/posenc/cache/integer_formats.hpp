// Formats of 8-bit integers, byte for byte as engines store them.
//
// In every format, a head or group becomes NaN as a whole if one of its numbers is not finite, or
// their range, unless the format says otherwise. An engine's result for such a head depends on the
// CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/cache/detail/group_extremes.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// OpenVINO's default (u8, per token and head) [attn_quant.cpp, quant_u8]:
///
///     scale = (most - least) / 255, 1e-4 if that is 0;   zero = -least / scale
///     code = x / scale + zero, to the nearest, ties to even, within [0, 255]
///     read as (code - zero) scale
///
/// head_dim + 8 bytes: scale (float), zero point (float, not rounded), codes. x / scale is x * (1 /
/// scale) in one multiply-add, as OpenVINO's AVX2 and AVX-512 code has it; on CPUs without, a code
/// may differ by one. (OpenVINO divides, and rounds ties away, in what a register does not fill.)
struct u8_per_head {
  static constexpr auto codes_are = code_layout::scaled_uint8;  ///< for dot products
  std::size_t bytes(std::size_t head_dim) const noexcept { return head_dim + 8; }  ///< of a head
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::heads_to_encode heads(head, to);
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
      auto const all = detail::quotient(range.most - range.least, numbers(255)),
                 scale =
                     b::as_number(detail::where_below(b::as_bits(all) & u32(0x7fff'ffffu), u32(1u),
                                                      b::as_bits(numbers(1e-4f)), b::as_bits(all)));
      // NaN, too, if the scale is infinite.
      auto const opposite = b::as_number(b::as_bits(range.least) ^ u32(0x8000'0000u)),
                 zero = detail::quotient(opposite, scale) - numbers(0.0f) * scale;
      detail::stored_groups<> const scales(scale, range.step), zeros(zero, range.step),
          inverses(detail::quotient(numbers(1.0f), scale), range.step);
      for (std::size_t i = 0; i < groups.count; ++i, heads.next()) {
        detail::put(heads.to, scales[i]);
        detail::put(heads.to + 4, zeros[i]);
        auto const write = [zero = zeros[i], inverse = inverses[i]]<class Number>(Number const& x)
                               POSENC_INLINED {
                                 auto sum = detail::multiply_add(x, Number(inverse), Number(zero));
                                 detail::as_written(sum);  // else zero would join what rounds
                                 return detail::limited(detail::nearest(sum), detail::nearest_of_0,
                                                        detail::nearest_of_0 + 255);
                               };
        detail::write_codes(heads.head(), heads.to + 8, write);
      }
    }
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    auto const scale = detail::number_at<float>(from), zero = detail::number_at<float>(from + 4);
    detail::read_codes(from + 8, head, [&](auto const& code) POSENC_INLINED {
      auto const number = detail::float_of(code);
      return detail::product(number - decltype(number)(zero), scale);
    });
  }
  /// Numbers from dim i on.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    using number = typename Lanes::number;
    return (detail::integers<std::uint8_t, Lanes>(head + 8 + i) -
            number(detail::number_at<float>(head + 4))) *
           number(detail::number_at<float>(head));
  }
};

/// vLLM's int8 with a scale of each token and head [int8_per_token_head]:
///
///     scale = max(|x|max / 127, 1e-6);   code = x (1 / scale), to the nearest, ties to even
///     read as code scale
///
/// head_dim bytes, and elsewhere one float.
struct int8_per_head {
  static constexpr auto codes_are = code_layout::int8;  ///< for dot products
  bool truncates = false;  ///< towards zero, as a version of vLLM whose store converts

  std::size_t bytes(std::size_t head_dim) const noexcept { return head_dim; }  ///< of a head
  std::size_t scale_bytes(std::size_t) const noexcept { return 4; }            ///< of a head
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to, std::byte* scales) const noexcept {
    detail::heads_to_encode heads(head, to, scales);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    while (heads.count != 0) {
      auto const groups = detail::next_heads(heads);
      detail::largest_magnitudes const found(groups);
      using numbers = detail::group_numbers;
      using b = detail::code_bits<numbers>;
      auto const scale = b::as_number(detail::more_of(
          b::as_bits(detail::quotient(found.most, numbers(127))), b::as_bits(numbers(1e-6f))));
      detail::stored_groups<> const scales(scale, found.step),
          inverses(detail::quotient(numbers(1.0f), scale), found.step);
      for (std::size_t i = 0; i < groups.count; ++i, heads.next()) {
        detail::put(heads.scales, scales[i]);
        auto const write = [&, inverse = inverses[i]](auto const& rounded) POSENC_INLINED {
          detail::write_codes(heads.head(), heads.to, [=](auto const& x) POSENC_INLINED {
            return rounded(detail::product(x, inverse));  // at most 127 and a little
          });
        };
        if (truncates) {
          write([](auto const& x) POSENC_INLINED { return detail::truncated_to_integer(x); });
        } else {
          write([](auto const& x) POSENC_INLINED { return detail::nearest(x); });
        }
      }
    }
  }
  /// Reads a head.
  void decode(std::byte const* from, std::byte const* scales,
              std::span<float> head) const noexcept {
    detail::read_signed(from, head, detail::number_at<float>(scales));
  }
  /// Codes from dim i on, to be multiplied by a factor.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    return detail::integers<std::int8_t, Lanes>(head + i);
  }
  /// The factor of a head.
  float factor(std::byte const* scales) const noexcept { return detail::number_at<float>(scales); }
};

/// int8 with one scale for a tensor, which the model brings; MLAS in ONNX Runtime
/// [qkv_quant.cpp, QuantizeRowInt8]:
///
///     code = x (1 / scale), to the nearest, ties to even, within [-128, 127];   read as code scale
///
/// head_dim bytes. A scale of 0 writes as 1 does, and reads 0. NaN gives 127.
struct int8_static {
  static constexpr auto codes_are = code_layout::int8;  ///< for dot products
  float scale = 1;                                      ///< of the tensor

  /// The bytes of a head. Throws unless the scale is finite and not negative.
  std::size_t bytes(std::size_t head_dim) const {
    detail::require(is_finite(scale) && scale >= 0,
                    "int8_static: the scale must be finite and not negative, got ", scale);
    return head_dim;
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    auto const inverse = scale != 0 ? 1 / scale : 1;
    detail::write_codes(head, to, [&](auto const& number) POSENC_INLINED {
      auto const x = detail::within_512(detail::product(number, inverse));
      return detail::limited(detail::nearest(x), detail::nearest_of_0 - 128,
                             detail::nearest_of_0 + 127);
    });
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::read_signed(from, head, scale);
  }
  /// Codes from dim i on, to be multiplied by a factor.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    return detail::integers<std::int8_t, Lanes>(head + i);
  }
  /// The factor of every head.
  float factor() const noexcept { return scale; }
};

}}  // namespace posenc
