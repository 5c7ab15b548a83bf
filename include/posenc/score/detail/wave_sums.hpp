// Sums of waves at neighbouring positions: sum_i a_i cos(p w_i) + b_i sin(p w_i).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/row_maker.hpp"
#include "posenc/simd/doubles.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A stretch of 512 positions is 8 blocks of 64, and a block is two halves, mirrored at its middle
/// m: with c = cos(w (j + 1/2)) and s = sin(w (j + 1/2)),
///
///     at m + j + 1/2    sum a c + b s           of a and b, turned from the stretch's first
///     at m - j - 1/2    sum a c - b s           position to m
///
/// so that 64 positions take as many multiply-adds as 32, and cosines are computed once for all.
inline constexpr std::size_t half_block = 32, block_length = 2 * half_block, block_count = 8,
                             stretch_length = block_count * block_length;

/// c and s of every pair, exact and rounded once: [pairs][2][half_block].
class wave_table {
 public:
  explicit wave_table(frequencies const& f)
      : doubles_(2 * half_block * f.pairs()), floats_(doubles_.size()) {
    std::array<double, half_block> at;
    for (std::size_t j = 0; j < half_block; ++j) at[j] = static_cast<double>(j) + 0.5;
    std::vector<double> rows(half_block * 2 * f.pairs());
    row_maker(f.with_attention_factor(1)).write(at, rows.data());
    for (std::size_t i = 0; i < doubles_.size(); ++i) {
      auto const pair = i / block_length, part = i / half_block % 2, j = i % half_block;
      doubles_[i] = rows[(2 * j + part) * f.pairs() + pair];
      floats_[i] = static_cast<float>(doubles_[i]);
    }
  }

  template <std::floating_point T>
  T const* of(std::size_t pair) const noexcept {
    if constexpr (std::same_as<T, double>) {
      return doubles_.data() + pair * block_length;
    } else {
      return floats_.data() + pair * block_length;
    }
  }

 private:
  std::vector<double> doubles_;
  std::vector<float> floats_;
};

/// At most 64 pairs of a wave_table, and what turns them to the middles of
/// block_count.
class wave_sums {
 public:
  static constexpr std::size_t most = 64;
  using numbers = std::array<double, most>;  ///< one for each of these pairs, then 0

  wave_sums(frequencies const& f, std::span<std::size_t const> pairs)
      : pairs_(pairs.begin(), pairs.end()), turns_(block_count * 2 * most) {
    std::array<double, block_count> middles;
    for (std::size_t block = 0; block < block_count; ++block)
      middles[block] = static_cast<double>(block * block_length + half_block) - 0.5;
    std::vector<double> rows(block_count * 2 * f.pairs());
    row_maker(f.with_attention_factor(1)).write(middles, rows.data());
    for (std::size_t row = 0; row < 2 * block_count; ++row)
      for (std::size_t i = 0; i < pairs_.size(); ++i)
        turns_[row * most + i] = rows[row * f.pairs() + pairs_[i]];
  }

  std::span<std::size_t const> pairs() const noexcept { return pairs_; }

  /// scores[n] += the sum at position offset(n) of a stretch. is_dense: offset(n) = offset(0) + n.
  /// a and b: at the stretch's first position.
  template <std::floating_point T>
  void add(wave_table const& table, numbers const& a, numbers const& b, auto const& offset,
           bool is_dense, std::span<T> scores) const noexcept {
    std::array<T, stretch_length> sums;
    auto const block_of = [&](std::size_t n) { return offset(n) / block_length; };
    if (is_dense) {
      write(table, a, b, (2u << block_of(scores.size() - 1)) - (1u << block_of(0)), sums);
      return add(sums.data() + offset(0), scores);
    }
    unsigned blocks = 0;
    for (std::size_t n = 0; n < scores.size(); ++n) blocks |= 1u << block_of(n);
    write(table, a, b, blocks, sums);
    for (std::size_t n = 0; n < scores.size(); ++n) scores[n] += sums[offset(n)];
  }

 private:
  static constexpr std::size_t at_once = 2;  // blocks: products that do not wait for each other

  // sums[n] = the sum at position n, in the blocks whose bits are 1.
  template <std::floating_point T>
  void write(wave_table const& table, numbers const& a, numbers const& b, unsigned blocks,
             std::array<T, stretch_length>& sums) const noexcept {
    std::array<T, most> cosines[at_once], sines[at_once];
    std::array<std::size_t, block_count + 1> chosen{};
    std::size_t count = 0;
    for (std::size_t block = 0; block < block_count; ++block)
      if ((blocks >> block & 1u) != 0) chosen[count] = chosen[count + 1] = block, ++count;
    for (std::size_t n = 0; n < count; n += at_once) {  // the last one twice if they are odd
      T* to[at_once];
      for (std::size_t k = 0; k < at_once; ++k) {
        turn(chosen[n + k], a, b, cosines[k].data(), sines[k].data());
        to[k] = sums.data() + chosen[n + k] * block_length;
      }
      multiply(table, cosines, sines, to);
    }
  }

  // scores[n] += sums[n].
  template <std::floating_point T>
  static void add(T const* sums, std::span<T> scores) noexcept {
    using registers = lanes<T>;
    constexpr auto some = half_block;  // a number of registers that the compiler unrolls
    std::size_t n = 0;
    for (; n + some <= scores.size(); n += some)
      for (std::size_t i = n; i < n + some; i += registers::size)
        registers::store(&scores[i], registers::load(&scores[i]) + registers::load(sums + i));
    for (; n < scores.size(); ++n) scores[n] += sums[n];
  }

  // a and b at the middle of a block.
  template <class T>
  void turn(std::size_t block, numbers const& a, numbers const& b, T* to_a,
            T* to_b) const noexcept {
    using registers = lanes<double>;
    auto const *const cos = turns_.data() + block * 2 * most, *const sin = cos + most;
    for (std::size_t i = 0; i < pairs_.size(); i += registers::size) {
      auto const x = registers::load(&a[i]), y = registers::load(&b[i]),
                 c = registers::load(cos + i), s = registers::load(sin + i);
      store_doubles(to_a + i, registers::multiply_add(x, c, y * s));
      store_doubles(to_b + i, registers::multiply_subtract(y, c, x * s));
    }
  }

  // The sums of blocks, whose a and b are given.
  template <class T>
  void multiply(wave_table const& table, std::array<T, most> const (&a)[at_once],
                std::array<T, most> const (&b)[at_once], T* const (&sums)[at_once]) const noexcept {
    using registers = lanes<T>;
    using number = typename registers::number;
    constexpr auto size = registers::size, count = std::min<std::size_t>(2, half_block / size);
    std::array<T, half_block> before[at_once];
    for (std::size_t j = 0; j < half_block; j += count * size) {
      number even[at_once][count], odd[at_once][count];
      for (std::size_t k = 0; k < at_once; ++k)
        for (std::size_t r = 0; r < count; ++r) even[k][r] = odd[k][r] = number(T{0});
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        auto const* const waves = table.template of<T>(pairs_[i]) + j;
        for (std::size_t r = 0; r < count; ++r) {
          auto const c = registers::load(waves + r * size),
                     s = registers::load(waves + half_block + r * size);
          for (std::size_t k = 0; k < at_once; ++k) {
            even[k][r] = registers::multiply_add(number(a[k][i]), c, even[k][r]);
            odd[k][r] = registers::multiply_add(number(b[k][i]), s, odd[k][r]);
          }
        }
      }
      for (std::size_t k = 0; k < at_once; ++k) {
        for (std::size_t r = 0; r < count; ++r) {
          registers::store(&sums[k][half_block + j + r * size], even[k][r] + odd[k][r]);
          registers::store(&before[k][j + r * size], even[k][r] - odd[k][r]);
        }
      }
    }
    for (std::size_t k = 0; k < at_once; ++k)
      for (std::size_t j = 0; j < half_block; ++j) sums[k][half_block - 1 - j] = before[k][j];
  }

  std::vector<std::size_t> pairs_;
  std::vector<double> turns_;  // [blocks][2][most]
};

}}}  // namespace posenc::detail
