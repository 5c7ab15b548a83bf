// A tile of a matrix product: the sums stay in registers, one matrix is read from a
// panel in L1, the other in place.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Rows and columns of a tile: as many sums as there are registers beside those for one row of the
/// panel and a broadcast number.
inline constexpr std::size_t tile_rows = 6, tile_width = has_32_registers ? 4 : 2;
template <std::floating_point T>
inline constexpr std::size_t tile_columns = tile_width* lanes<T>::size;

/// The most terms that are summed at once, from 0, before they are added to other sums: with
/// registers of 64 bytes, a panel of them takes 32 KiB.
inline constexpr std::size_t tile_terms = 128;

/// to[r][c] = factor sum_n a[r][n step] panel[n][c], or that added to it.
template <std::floating_point T>
struct tile {
  using number = T;
  T* to;
  std::size_t stride;                 ///< from a row of `to` to the next
  std::array<T const*, tile_rows> a;  ///< the first term of each row
  std::size_t step;                   ///< from a term to the next
  T const* panel;                     ///< [terms][tile_columns]
  std::size_t terms;
  T factor;
  bool adds;
};

/// The first numbers of `count` rows of a tile, `stride` numbers apart; rows beyond are the last
/// one.
template <class T>
std::array<T const*, tile_rows> rows_of_tile(T const* first, std::size_t stride,
                                             std::size_t count) noexcept {
  std::array<T const*, tile_rows> rows;
  for (std::size_t r = 0; r < tile_rows; ++r) rows[r] = first + std::min(r, count - 1) * stride;
  return rows;
}

/// For all rows, and Width registers of columns. The same terms give the same bits, wherever they
/// are and whatever is in other rows and columns.
template <std::size_t Width, std::floating_point T>
[[gnu::noinline]] void multiply_whole(tile<T> const& t) noexcept {
  using registers = lanes<T>;
  using number = typename registers::number;
  number sums[tile_rows][Width];
  for (auto& row : sums) std::fill_n(row, Width, number(T{0}));
  auto const a = t.a;
  auto const* panel = t.panel;
  auto const step = t.step;
  for (std::size_t n = 0, end = t.terms * step; n != end; n += step, panel += tile_columns<T>) {
    number x[Width];
    for (std::size_t j = 0; j < Width; ++j) x[j] = registers::load(panel + j * registers::size);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      number const y(a[r][n]);
      for (std::size_t j = 0; j < Width; ++j)
        sums[r][j] = registers::multiply_add(y, x[j], sums[r][j]);
    }
  }
  auto const finish = [&sums, to = t.to, stride = t.stride, factor = number(t.factor)](auto adds) {
    for (std::size_t r = 0; r < tile_rows; ++r) {
      for (std::size_t j = 0; j < Width; ++j) {
        auto* const at = to + r * stride + j * registers::size;
        if constexpr (adds) {
          registers::store(at, registers::multiply_add(factor, sums[r][j], registers::load(at)));
        } else {
          registers::store(at, factor * sums[r][j]);
        }
      }
    }
  };
  t.adds ? finish(std::true_type()) : finish(std::false_type());
}

/// For the first rows and columns of a tile, at least one of each. Rows of `a` beyond them may be
/// any numbers that can be read.
template <class Tile>
void multiply(Tile const& t, std::size_t rows, std::size_t columns) noexcept {
  using T = typename Tile::number;
  constexpr auto size = lanes<T>::size, whole = tile_columns<T>;
  auto const multiply_columns = [=](Tile const& some) {
    [&]<std::size_t... Less>(std::index_sequence<Less...>) {
      ((Less == (columns - 1) / size ? multiply_whole<Less + 1>(some) : void()), ...);
    }
    (std::make_index_sequence<tile_width>());
  };
  if (rows == tile_rows && columns % size == 0) return multiply_columns(t);
  std::array<T, tile_rows * whole> part;
  if (t.adds) {
    part.fill(T{0});
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(t.to + r * t.stride, columns, part.data() + r * whole);
  }
  auto in_part = t;
  in_part.to = part.data(), in_part.stride = whole;
  multiply_columns(in_part);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy_n(part.data() + r * whole, columns, t.to + r * t.stride);
}

}}}  // namespace posenc::detail
