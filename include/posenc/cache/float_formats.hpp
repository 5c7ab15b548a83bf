// Formats of floating-point numbers: those of storage.hpp, E4M3, DeepSeek V4's page.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/cache/detail/e4m3_codes.hpp"
#include "posenc/cache/detail/group_extremes.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/numbers.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Numbers at any address, aligned or not, each rounded once to nearest even. (If numbers are
/// aligned, their type is a format already: heads_view k(numbers, shape, slots).)
template <storable T>
struct numbers_of {
  using number_type = T;  ///< how each dim is stored
  std::size_t bytes(std::size_t head_dim) const noexcept { return head_dim * sizeof(T); }  ///< same
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::store_numbers(head, reinterpret_cast<T*>(to));
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::load_numbers(reinterpret_cast<T const*>(from), head);
  }
};

/// How a number becomes E4M3: to the nearest, ties to even; or towards zero.
enum class e4m3_rounding { nearest, towards_zero };

/// The 8-bit float E4M3 (OCP's, called e4m3fn) with one scale per tensor [vLLM fp8; FlashInfer]:
///
///     code = E4M3(x inverse), within [-448, 448];   read as E4M3 scale
///
/// head_dim bytes. NaN stays NaN; infinity gives 448. towards_zero is vLLM's writer for CPUs
/// [cpu_attn_fp8.hpp, which shifts]: of normal numbers the error is 5.1 % rms instead of 2.65, and
/// heads are 0.957 as long; NaN gives 448.
struct e4m3 {
  float scale = 1;                                  ///< what codes are multiplied by
  float inverse = 0;                                ///< what numbers are; 0: 1 / scale
  e4m3_rounding rounding = e4m3_rounding::nearest;  ///< of x inverse

  /// vLLM's scale, which divides numbers. Throws unless it and 1 / scale are finite and positive,
  /// and it is below 2^120: 448 times a larger one is infinite.
  static e4m3 of_scale(float scale, e4m3_rounding rounding = e4m3_rounding::nearest) {
    require_scale(scale, 1 / scale, scale);
    return {scale, 1 / scale, rounding};
  }
  /// FlashInfer's scale, which multiplies numbers. Throws as of_scale(1 / scale) does.
  static e4m3 of_quant_scale(float scale) {
    require_scale(1 / scale, scale, scale);
    return {1 / scale, scale, e4m3_rounding::nearest};
  }

  /// Throws unless scale and inverse are as of_scale takes them.
  void check() const { require_scale(scale, quant_scale(), scale); }
  /// The bytes of a head. Throws as check does.
  std::size_t bytes(std::size_t head_dim) const {
    check();
    return head_dim;
  }
  /// The factor of numbers.
  float quant_scale() const noexcept { return inverse == 0 ? 1 / scale : inverse; }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    auto const by = quant_scale();
    auto const write = [&](auto const& code) POSENC_INLINED {
      detail::write_codes(
          head, to, [&](auto const& x) POSENC_INLINED { return code(detail::product(x, by)); });
    };
    if (rounding == e4m3_rounding::nearest)
      return write([](auto const& x) POSENC_INLINED { return detail::e4m3_codes::to_nearest(x); });
    write([](auto const& x) POSENC_INLINED { return detail::e4m3_codes::towards_zero(x); });
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::e4m3_codes::read(from, head, scale);
  }
  /// 2^-8 times the codes from dim i on, to be multiplied by a factor.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    return detail::e4m3_codes::load<Lanes>(head + i);
  }
  /// The factor of every head.
  float factor() const noexcept { return scale * 256; }

 private:
  static void require_scale(float scale, float inverse, float given) {
    detail::require(is_finite(scale) && scale > 0 && is_finite(inverse) && inverse >= 0,
                    "e4m3: the scale and its inverse must be finite and positive, got ", given);
    detail::require(scale < 0x1p120f, "e4m3: the scale must be below 2^120, got ", scale);
  }
};

/// DeepSeek V4's page of keys (which are values too) [vLLM, fp8_ds_mla; sglang]. A head has all
/// dims but the last 64 as E4M3 in groups of 64, then 64 that rotate, as bfloat16:
///
///     e = ceil(log2(max(|x|max / 448, least)));   code = E4M3(x 2^-e);   read as E4M3 2^e
///
/// 576 bytes for 512 dims, and elsewhere 8: a byte e + 127 for each group, then one 0. Numbers are
/// rounded to bfloat16 first. Keys shift without a code written anew: in dense pages of one head,
/// rotate a heads_view of bfloat16 from byte 448 on, strides {.page = 292 page_tokens, .token =
/// 288}.
struct deepseek_v4 {
  bool flushes = false;                      ///< codes below 2^-6 are written as 0
  float least = 1e-4f / 448;                 ///< the least scale
  static constexpr std::size_t group = 64;   ///< dims with one scale
  static constexpr std::size_t rotary = 64;  ///< dims of bfloat16

  /// vLLM's and sglang's writers for CUDA.
  static constexpr deepseek_v4 of_cuda() noexcept { return {}; }
  /// Their writers for CPUs with AVX-512: two differences, in tiles with |x|max below 0.0448, and
  /// in numbers below 2^-14 of the largest of their group.
  static constexpr deepseek_v4 of_cpus() noexcept { return {true, 1e-4f}; }

  /// The bytes of a head. Throws unless head_dim is 64 and a positive multiple of 64 more.
  std::size_t bytes(std::size_t head_dim) const {
    detail::require(head_dim > rotary && head_dim % group == 0,
                    "deepseek_v4: head_dim must be a multiple of 64 above 64, got ", head_dim);
    return head_dim + rotary;
  }
  /// The bytes of a head's scales.
  std::size_t scale_bytes(std::size_t head_dim) const noexcept { return head_dim / group; }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to, std::byte* scales) const noexcept {
    auto const plain = head.size() - rotary;
    for (std::size_t first = 0; first < plain; first += group, to += group, ++scales) {
      float x[group];
      for (std::size_t i = 0; i < group; ++i) x[i] = static_cast<float>(bfloat16(head[first + i]));
      auto const scale = std::bit_cast<std::uint32_t>(detail::largest_magnitude(x) / 448),
                 bits = std::max(scale, std::bit_cast<std::uint32_t>(least));
      // The exponent of bits, one more unless they are a power of 2; 255 for infinity and NaN.
      auto const exponent = std::min((bits + 0x7f'ffffu) >> 23, 255u);
      *scales = static_cast<std::byte>(exponent);
      auto const inverse =
          std::bit_cast<float>(exponent == 255 ? 0x7fc0'0000u : (254 - exponent) << 23);
      detail::write_codes(x, to, [&](auto const& number) POSENC_INLINED {
        return detail::e4m3_codes::to_nearest(detail::product(number, inverse), flushes);
      });
    }
    *scales = std::byte{0};
    numbers_of<bfloat16>().encode(head.subspan(plain), to);
  }
  /// Reads a head.
  void decode(std::byte const* from, std::byte const* scales,
              std::span<float> head) const noexcept {
    auto const plain = head.size() - rotary;
    for (std::size_t first = 0; first < plain; first += group, from += group, ++scales) {
      auto const byte = static_cast<std::uint8_t>(*scales);
      auto const scale =
          std::bit_cast<float>(byte == 255 ? 0x7fc0'0000u : std::uint32_t{byte} << 23);
      detail::e4m3_codes::read(from, head.subspan(first, group), scale);
    }
    numbers_of<bfloat16>().decode(from, head.subspan(plain));
  }
};

}}  // namespace posenc
