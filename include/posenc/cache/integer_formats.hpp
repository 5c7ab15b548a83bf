// Formats of 8-bit integers, byte for byte as engines store them.
//
// Of all: a head, or group, with a number that is not finite becomes NaN as a whole, unless its
// format says otherwise; what an engine makes of one depends on its instructions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/cache/codes.hpp"
#include "posenc/cache/format.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc::inline POSENC_TARGET {

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
  std::size_t bytes(std::size_t head_dim) const noexcept { return head_dim + 8; }  ///< of a head
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::extremes const of_head(head, detail::ordered);
    auto const least = std::bit_cast<float>(detail::ordered(of_head.least)),
               most = std::bit_cast<float>(detail::ordered(of_head.most));
    auto scale = (most - least) / 255;
    if (scale == 0) scale = 1e-4f;
    // NaN, too, if the scale is infinite.
    auto const zero = -least / scale - 0 * scale, inverse = 1 / scale;
    detail::put(to, scale), detail::put(to + 4, zero);
    detail::write_codes(head, to + 8, [&]<class Number>(Number const& x) POSENC_INLINED {
      auto const sum = detail::multiply_add(x, Number(inverse), Number(zero));
      return detail::limited(detail::nearest(sum), 0, 255);
    });
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    auto const scale = detail::number_at<float>(from), zero = detail::number_at<float>(from + 4);
    detail::read_codes(from + 8, head, [&](auto const& code) POSENC_INLINED {
      auto const number = detail::unsigned_number(code);
      return detail::product(number - decltype(number)(zero), scale);
    });
  }
};

/// How q8_0 rounds: quantize_row_q8_0_ref in ggml's own words, or its code for AVX2.
enum class q8_0_writer { reference, avx2 };

/// ggml's q8_0, of llama.cpp and its kin [ggml-quants.c, quantize_row_q8_0_ref]:
///
///     d = |x|max / 127 of 32 numbers;   code = x (1 / d), to the nearest, ties away from zero
///     avx2: x (127 / |x|max), ties to even;   read as code half(d)
///
/// 34 bytes for 32 dims: half(d), codes. The two writers differ by one code at ties, and where the
/// two reciprocals differ in their last bit. d = 0 gives codes 0; |x|max beyond 127 * 65504, NaN.
struct q8_0 {
  q8_0_writer writer = q8_0_writer::reference;  ///< whose bytes
  static constexpr std::size_t group = 32;      ///< dims with one scale

  /// Of a head. Throws unless head_dim is a multiple of 32.
  std::size_t bytes(std::size_t head_dim) const {
    detail::require(head_dim % group == 0, "q8_0: head_dim must be a multiple of 32, got ",
                    head_dim);
    return head_dim / group * (group + 2);
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    for (std::size_t first = 0; first < head.size(); first += group, to += group + 2) {
      auto const x = head.subspan(first, group);
      auto const most = detail::largest_magnitude(x), d = most / 127;
      detail::put(to, half(d).bits);
      if (writer == q8_0_writer::reference) {
        write(x, 1 / d, to + 2,
              [](auto const& n) POSENC_INLINED { return detail::nearest_away(n); });
      } else {
        write(x, 127 / most, to + 2,
              [](auto const& n) POSENC_INLINED { return detail::nearest(n); });
      }
    }
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    for (std::size_t first = 0; first < head.size(); first += group, from += group + 2) {
      auto const d = static_cast<float>(half::from_bits(detail::number_at<std::uint16_t>(from)));
      detail::read_signed(from + 2, head.subspan(first, group), d);
    }
  }

 private:
  [[gnu::always_inline]] static void write(std::span<float const> x, float inverse, std::byte* to,
                                           auto const& rounded) noexcept {
    detail::write_codes(x.first<group>(), to, [&](auto const& number) POSENC_INLINED {
      return rounded(detail::product(number, inverse));  // at most 127 and a little
    });
  }
};

/// vLLM's int8 with a scale of each token and head [int8_per_token_head]:
///
///     scale = max(|x|max / 127, 1e-6);   code = x (1 / scale), to the nearest, ties to even
///     read as code scale
///
/// head_dim bytes, and elsewhere one float.
struct int8_per_head {
  bool truncates = false;  ///< towards zero, as a version of vLLM whose store converts

  std::size_t bytes(std::size_t head_dim) const noexcept { return head_dim; }  ///< of a head
  std::size_t scale_bytes(std::size_t) const noexcept { return 4; }            ///< of a head
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to, std::byte* scales) const noexcept {
    auto const most = detail::largest_magnitude(head) / 127, scale = most < 1e-6f ? 1e-6f : most,
               inverse = 1 / scale;
    detail::put(scales, scale);
    auto const write = [&](auto const& rounded) POSENC_INLINED {
      detail::write_codes(head, to, [&](auto const& x) POSENC_INLINED {
        return rounded(detail::product(x, inverse));  // at most 127 and a little
      });
    };
    if (truncates)
      return write([](auto const& x) POSENC_INLINED { return detail::truncated_to_integer(x); });
    write([](auto const& x) POSENC_INLINED { return detail::nearest(x); });
  }
  /// Reads a head.
  void decode(std::byte const* from, std::byte const* scales,
              std::span<float> head) const noexcept {
    detail::read_signed(from, head, detail::number_at<float>(scales));
  }
};

/// int8 with one scale for a tensor, which the model brings; MLAS in ONNX Runtime
/// [qkv_quant.cpp, QuantizeRowInt8]:
///
///     code = x (1 / scale), to the nearest, ties to even, within [-128, 127];   read as code scale
///
/// head_dim bytes. A scale of 0 writes as 1 does, and reads 0. NaN gives 127 or -128, by its sign.
struct int8_static {
  float scale = 1;  ///< of the tensor

  std::size_t bytes(std::size_t head_dim) const noexcept { return head_dim; }  ///< of a head
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    auto const inverse = scale != 0 ? 1 / scale : 1;
    detail::write_codes(head, to, [&](auto const& number) POSENC_INLINED {
      auto const x = detail::within_512(detail::product(number, inverse));
      return detail::limited(detail::nearest(x), -128, 127);
    });
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::read_signed(from, head, scale);
  }
};

}  // namespace posenc
