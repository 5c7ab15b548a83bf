// Heads of floats as integers of 16 bits with one scale a head, so that no sum of their products
// leaves 32 bits. A register's worth of heads is rounded at a time.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/simd/x86_pair_products.hpp"

#if defined(POSENC_HAS_PAIR_PRODUCTS)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The norm of the integers of a query or key, so that by Cauchy and Schwarz no sum over dims
/// leaves 32 bits: rounding adds sqrt(dims) / 2 to it.
inline constexpr float norm_of_integers = 32766;
/// The largest integers of weights and of values, whose products are summed over 64 keys.
inline constexpr int most_weight = 8191, most_value = 4095;
inline constexpr std::size_t keys_of_sum = 64;
static_assert(std::int64_t{most_weight} * most_value * keys_of_sum < 0x7fff'ffff);

POSENC_QUIET_BEGIN

/// How many heads are rounded at a time.
inline constexpr std::size_t heads_at_once = word_registers::size;

/// Calls each(address, index, count) for registers along numbers; zeros fill up the last one.
POSENC_ALWAYS_INLINE inline void for_zero_padded(float const* numbers, std::size_t count,
                                                 auto const& each) noexcept {
  constexpr auto size = word_registers::size;
  std::size_t i = 0;
  for (; i + size <= count; i += size) each(numbers + i, i, size);
  if (i == count) return;
  std::array<float, size> rest{};
  std::copy_n(numbers + i, count - i, rest.data());
  each(rest.data(), i, count - i);
}

/// Scales of rounded heads. A head apart has no ordinary norm: it is huge or tiny, or has a NaN or
/// an infinity. Its integers are 0, and its products are made of floats.
class rounded_scales {
 public:
  using some_heads = std::array<std::span<float const>, heads_at_once>;

  rounded_scales() = default;
  rounded_scales(scratch& memory, std::size_t heads)
      : scales_(memory.take<float>(heads + tile_columns<float>)),  // read by whole registers
        apart_(memory.take<std::uint32_t>(heads + heads_at_once)) {}

  /// Begins anew for so many heads. Scales beyond them are 0, as weights beyond the last are, and
  /// not what memory happens to have.
  void begin(std::size_t heads) noexcept {
    count_ = 0;
    std::fill_n(scales_ + heads, tile_columns<float>, 0.0f);
  }
  float const* data() const noexcept { return scales_; }
  std::span<std::uint32_t const> apart() const noexcept { return {apart_, count_}; }

  /// Keeps factor / x of heads from `first` on, of which `count` differ, where integers are x times
  /// numbers, and returns x: norm_of_integers over the norm.
  std::array<float, heads_at_once> by_norm(std::size_t first, std::size_t count,
                                           some_heads const& heads, float factor = 1) noexcept {
    number squares[heads_at_once];
    for (std::size_t n = 0; n < heads_at_once; ++n) {
      number sum(0.0f);
      for_zero_padded(heads[n].data(), heads[n].size(),
                      [&](float const* from, std::size_t, std::size_t) POSENC_INLINED {
                        auto const x = lanes<float>::load(from);
                        sum = lanes<float>::multiply_add(x, x, sum);
                      });
      squares[n] = sum;
    }
    auto const sizes = lanes<float>::sums(squares);
    return keep(first, count, heads, sizes, lanes<float>::square_root(sizes), norm_of_integers,
                factor);
  }
  /// The same, of most_value over the largest magnitude.
  std::array<float, heads_at_once> by_largest(std::size_t first, std::size_t count,
                                              some_heads const& heads) noexcept {
    number most[heads_at_once];
    for (std::size_t n = 0; n < heads_at_once; ++n) {
      word_registers::number bits{};
      for_zero_padded(heads[n].data(), heads[n].size(),
                      [&](float const* from, std::size_t, std::size_t) POSENC_INLINED {
                        bits = word_registers::larger_magnitude(bits, lanes<float>::load(from));
                      });
      most[n] = word_registers::bits_as_floats(bits);
    }
    lanes<float>::transpose(most);
    word_registers::number bits{};
    for (auto const& x : most) bits = word_registers::larger_magnitude(bits, x);
    auto const sizes = word_registers::bits_as_floats(bits);
    return keep(first, count, heads, sizes, sizes, most_value, 1);
  }

 private:
  using number = lanes<float>::number;

  std::array<float, heads_at_once> keep(std::size_t first, std::size_t count,
                                        some_heads const& heads, number const& sizes,
                                        number const& norms, float most, float factor) noexcept {
    std::array<float, heads_at_once> size, inverse;
    lanes<float>::store(size.data(), sizes);
    lanes<float>::store(inverse.data(), number(most) / norms);
    lanes<float>::store(scales_ + first, norms * number(factor / most));
    for (std::size_t n = 0; n < heads_at_once; ++n) {
      constexpr auto least = detail::bit_cast<std::uint32_t>(0x1p-100f),
                     range = detail::bit_cast<std::uint32_t>(0x1p+100f) - least;
      if (detail::bit_cast<std::uint32_t>(size[n]) - least < range) [[likely]]
        continue;
      inverse[n] = scales_[first + n] = 0;
      bool const is_zero = std::ranges::all_of(
          heads[n], [](float x) { return detail::bit_cast<std::uint32_t>(x) << 1 == 0; });
      if (n < count && !is_zero) apart_[count_++] = static_cast<std::uint32_t>(first + n);
    }
    return inverse;
  }

  float* scales_ = nullptr;
  std::uint32_t* apart_ = nullptr;
  std::size_t count_ = 0;
};

/// Writes integers of 16 bits, dense, one for each of `count` numbers: each(address, index),
/// rounded.
POSENC_ALWAYS_INLINE inline void write_integers(float const* numbers, std::size_t count,
                                                std::byte* to, auto const& each) noexcept {
  for_zero_padded(numbers, count,
                  [&](float const* from, std::size_t i, std::size_t some) POSENC_INLINED {
                    auto const x = word_registers::rounded(each(from, i));
                    if (some == word_registers::size)
                      return word_registers::store_halves(to + 2 * i, x);
                    std::array<std::byte, 2 * word_registers::size> halves;
                    word_registers::store_halves(halves.data(), x);
                    std::memcpy(to + 2 * i, halves.data(), 2 * some);
                  });
}

/// Writes a query or key times `inverse` as words of two dims.
inline void round_dims(std::span<float const> head, float inverse, float* words) noexcept {
  if (head.size() % 2 != 0) words[head.size() / 2] = 0;
  lanes<float>::number const by(inverse);
  write_integers(head.data(), head.size(), reinterpret_cast<std::byte*>(words),
                 [&](float const* from, std::size_t)
                     POSENC_INLINED { return lanes<float>::load(from) * by; });
}

/// Writes words of one number of each of two heads.
inline void round_two(float const* first, float inverse_of_first, float const* second,
                      float inverse_of_second, std::size_t count, float* words) noexcept {
  lanes<float>::number const by(inverse_of_first), by_second(inverse_of_second);
  auto const both = [&](float const* x, float const* y) POSENC_INLINED {
    return word_registers::paired(word_registers::rounded(lanes<float>::load(x) * by),
                                  word_registers::rounded(lanes<float>::load(y) * by_second));
  };
  constexpr auto size = word_registers::size;
  for_zero_padded(first, count,
                  [&](float const* x, std::size_t i, std::size_t some) POSENC_INLINED {
                    if (some == size) return word_registers::store(words + i, both(x, second + i));
                    std::array<float, size> rest{};
                    std::copy_n(second + i, some, rest.data());
                    word_registers::store(rest.data(), both(x, rest.data()));
                    std::memcpy(words + i, rest.data(), some * sizeof(float));
                  });
}

/// Writes weights, each times the scale of its value, as integers of which the largest is
/// most_weight. Returns the step; NaN if a weight is.
inline float round_weights(float const* weights, float const* scales, std::size_t count,
                           std::byte* to) noexcept {
  word_registers::number bits{};
  auto const product = [&](float const* from, std::size_t i) POSENC_INLINED {
    return lanes<float>::load(from) * lanes<float>::load(scales + i);
  };
  for_zero_padded(weights, count,
                  [&](float const* from, std::size_t i, std::size_t) POSENC_INLINED {
                    bits = word_registers::larger_magnitude(bits, product(from, i));
                  });
  auto const largest = word_registers::largest(bits);
  constexpr std::uint32_t infinite = 0x7f80'0000, least = 0x0480'0000;  // 2^-118
  bool const is_ordinary =
      detail::bit_cast<std::uint32_t>(largest) - least < infinite - least;  // and not 0
  lanes<float>::number const by(is_ordinary ? most_weight / largest : 0.0f);
  write_integers(weights, count, to, [&](float const* from, std::size_t i) POSENC_INLINED {
    return product(from, i) * by;
  });
  return largest / most_weight;
}

POSENC_QUIET_END

}}}  // namespace posenc::detail
#endif
