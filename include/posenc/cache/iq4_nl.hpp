// ggml's iq4_nl: 32 numbers of 4 bits, of a table that is not linear, with one scale of 16 bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/cache/detail/ggml_blocks.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/nibbles.hpp"
#include "posenc/simd/quotient.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// iq4_nl of ggml, which llama.cpp stores [ggml-quants.c, quantize_row_iq4_nl_ref]:
///
///     table = -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
///     y = x (1 / (m / -127)), where m is the number of the largest magnitude of 32, the first of
///     several;   code = that of the number v of the table next to y, of two the larger
///     d = sum x x v x / sum x x v v;   read as v half(d)
///
/// 18 bytes for 32 dims: half(d), then byte j has code j in its low bits and code j + 16.
/// Quotients, products and sums are rounded apart, and sums begin with the first dim; a compiler
/// that fuses them (g++ for ARM) may give another last bit of half(d). If |m| is below 1e-15, d is
/// 0, and codes are 8, which ggml leaves as they were. A group with NaN or an infinite number
/// becomes NaN as a whole. If |d| is above 65504, half(d) is infinite, as in ggml, and so are
/// numbers.
struct iq4_nl {
  static constexpr std::size_t group = 32;  ///< dims with one scale
  /// Code c stands for half(d) times numbers_of_codes[c].
  static constexpr std::array<float, 16> numbers_of_codes{-127, -104, -83, -65, -49, -35, -22, -10,
                                                          1,    13,   25,  38,  53,  69,  89,  113};

  /// The bytes of a head. Throws unless head_dim is a multiple of 32.
  constexpr std::size_t bytes(std::size_t head_dim) const {
    return detail::bytes_in_blocks("iq4_nl", head_dim, block::bytes);
  }
  /// Writes a head.
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    detail::heads_to_encode heads(head, to);
    encode_some(heads);
  }
  /// Writes some heads.
  void encode_some(detail::heads_to_encode& heads) const noexcept {
    detail::encode_in_blocks(heads, block::bytes, write);
  }
  /// Reads a head.
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    detail::decode_blocks(head, [from]<class Lanes>(Lanes, std::size_t i)
                                    POSENC_INLINED { return load<Lanes>(from, i); });
  }
  /// Numbers from dim i on, those of half a group.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static typename Lanes::number load(std::byte const* head,
                                                          std::size_t i) noexcept {
    return values<Lanes>(head + i / group * block::bytes, i % group) *
           detail::half_everywhere<Lanes>(head + i / group * block::bytes);
  }

 private:
  using block = detail::few_bits<4, false>;
  // The means of neighbours, as integers that have the order of floats.
  static constexpr auto bounds = [] {
    std::array<std::int32_t, 15> result{};
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = detail::ordered(
          std::bit_cast<std::int32_t>((numbers_of_codes[i] + numbers_of_codes[i + 1]) / 2));
    return result;
  }();
  // How many of the means are not above x.
  template <class Number>
  POSENC_ALWAYS_INLINE static auto code_of(Number const& x) noexcept {
    auto const place = detail::ordered(detail::bits_as<std::int32_t>(x));
    auto code = detail::not_below(place, bounds[0]);
    for (std::size_t i = 1; i < bounds.size(); ++i)
      code = code + detail::not_below(place, bounds[i]);
    return code;
  }
  // The numbers of the table, from dim i of a block on.
  template <class Lanes>
  POSENC_ALWAYS_INLINE static auto values(std::byte const* from, std::size_t i) noexcept {
    auto const* const codes = from + block::codes_at + i % (group / 2);
    return detail::read_by_table<Lanes>(detail::load_codes<std::uint8_t, Lanes>(codes),
                                        i >= group / 2, numbers_of_codes);
  }

  static void write(float const* x, std::size_t count, std::byte* to) noexcept {
    while (count != 0) {
      auto const some = std::min(count, detail::number_groups::most);
      detail::block_extremes const m({x, group, group, some});
      detail::stored_groups<> const extremes(m.most, m.step),
          inverses(detail::inverse_or_0(detail::quotient(m.most, detail::group_numbers(-127.0f))),
                   m.step);
      for (std::size_t i = 0; i < some; ++i, x += group, to += block::bytes) {
        bool const are_zeros = std::abs(extremes[i]) < 1e-15f;
        detail::write_block<block>(x, to,
                                   [by = are_zeros ? 0 : inverses[i]](auto const& y)
                                       POSENC_INLINED { return code_of(detail::product(y, by)); });
        detail::put(to, half(are_zeros                ? 0
                             : is_finite(extremes[i]) ? scale_of(x, to)
                                                      : detail::bit_cast<float>(0x7fc0'0000u))
                            .bits);
      }
      count -= some;
    }
  }
  static float scale_of(float const* x, std::byte const* from) noexcept {
    using lanes = detail::code_lanes;
    float products[group], squares[group];
    for (std::size_t i = 0; i < group; i += lanes::size) {
      auto const y = lanes::load(x + i), value = values<lanes>(from, i), weighted = y * y * value;
      auto product = weighted * y, square = weighted * value;
      detail::as_written(product), detail::as_written(square);
      lanes::store(products + i, product), lanes::store(squares + i, square);
    }
    float product = 0, square = 0;
    for (std::size_t i = 0; i < group; ++i) product += products[i], square += squares[i];
    return product / square;
  }
};

}}  // namespace posenc
