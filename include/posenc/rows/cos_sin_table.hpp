// cos/sin rows from two small tables, by angle addition.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/detail/phase_lanes.hpp"
#include "posenc/rows/detail/row_writer.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The rows of cos_sin_rows, up to one rounding, at positions in [-range, range], by angle
/// addition: with |p| = c F + f, |f| <= F / 2,
///
///     cos + i sin = coarse[c] * fine[|f|]      conjugate fine if f < 0, the product if p < 0
///
/// Two tables of doubles, together about sqrt(2 range) rows of 16 bytes per rotated pair: 1.5 MiB
/// at head_dim 128 and range 2^20. Positions outside the range, and fractional ones, are computed
/// as cos_sin_rows does. Accuracy, with attention factor 1: float 3e-8, that is, correctly rounded
/// except for near-ties; double 7e-16. A row's bits depend on its position alone.
/// Make one per model; it is immutable, so threads may share it. Throws std::invalid_argument
/// unless range is in [1, 2^32], and as cos_sin_rows does.
class cos_sin_table {
 public:
  /// Makes the two tables; copies the frequencies.
  explicit cos_sin_table(frequencies const& f, std::int64_t range = std::int64_t{1} << 20)
      : f_(f), range_(range) {
    detail::require(range >= 1 && range <= std::int64_t{1} << 32,
                    "cos_sin_table: range must be in [1, 2^32], got ", range);
    fine_bits_ = (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(range))) + 1) / 2;
    for (auto const [first, last] : f_.rotated_pairs())
      row_lines_ += 2 * ((last - first + in_line - 1) / in_line);
    auto layout = detail::layout_of(f_);
    coarse_ = table_of(layout, coarse_row(range) + 1, std::int64_t{1} << fine_bits_);
    layout.factor = 1;
    fine_ = table_of(layout, (std::int64_t{1} << (fine_bits_ - 1)) + 1, 1);
  }

  /// The rows at integer or fractional positions, [tokens].
  template <std::floating_point Real = float, position_range Positions>
  cos_sin_rows<Real> rows(Positions const& positions) const {
    return {detail::layout_of(f_), detail::checked_positions("cos_sin_table", positions),
            [this](auto position, Real* row) { this->write_row(position, row); }};
  }

  /// Overwrites rows of any shape, whose views become invalid. Allocates nothing if they ever held
  /// as many tokens and pairs. If it throws, they are unchanged.
  template <std::floating_point Real, position_range Positions>
  void write(Positions const& positions, cos_sin_rows<Real>& rows) const {
    detail::checked_positions("cos_sin_table", positions);
    write(positions, rows.reshape(detail::layout_of(f_), std::size(positions)));
  }

  /// Writes the rows into the caller's memory, [tokens][2][pairs], and returns a view of it and of
  /// this table; allocates nothing. Preconditions, not checked: the memory has room for all rows,
  /// and every position fits int64.
  template <std::floating_point Real, position_range Positions>
  cos_sin_view<Real> write(Positions const& positions, Real* memory) const& noexcept {
    auto* row = memory;
    for (auto const p : positions) {
      detail::layout_of(f_).write_unrotated(row);
      write_row(detail::widened(p), row);
      row += rotary_dim();
    }
    return {memory, static_cast<std::size_t>(std::size(positions)), pairs(), f_.rotated_pairs()};
  }
  /// Not from a temporary, because the rows view the table.
  template <std::floating_point Real, position_range Positions>
  void write(Positions const& positions, Real* memory) const&& {
    write(positions, memory);
  }

  std::int64_t range() const noexcept { return range_; }     ///< farther positions cost more
  std::size_t pairs() const noexcept { return f_.pairs(); }  ///< of a row, those of frequency 0 too
  std::size_t rotary_dim() const noexcept { return 2 * f_.pairs(); }  ///< 2 pairs()
  /// The bytes of both tables.
  std::size_t bytes() const noexcept { return (coarse_.size() + fine_.size()) * sizeof(line); }

 private:
  using lanes = detail::phase_lanes;
  static constexpr std::size_t in_line = 16;
  static_assert(in_line % (2 * lanes::size) == 0);
  struct alignas(64) line {
    double numbers[in_line];
  };
  // [rows][lines of a row / 2][2]: per range of rotated pairs, 16 cosines, 16 sines, ...
  using table = std::vector<line>;

  std::int64_t coarse_row(std::int64_t magnitude) const noexcept {
    return (magnitude + (std::int64_t{1} << (fine_bits_ - 1))) >> fine_bits_;
  }

  table table_of(detail::row_layout const& layout, std::int64_t rows, std::int64_t stride) const {
    table result(static_cast<std::size_t>(rows) * row_lines_);
    std::vector<double> row(2 * layout.pairs);
    auto* to = result.data();
    for (std::int64_t i = 0; i < rows; ++i) {
      detail::write_row_at(i * stride, f_.steps(), row.data(), layout);
      for (auto const [first, last] : layout.rotated_pairs) {
        for (auto pair = first; pair < last; pair += in_line, to += 2)
          for (std::size_t k = 0; k < in_line && pair + k < last; ++k) {
            to[0].numbers[k] = row[pair + k];
            to[1].numbers[k] = row[layout.pairs + pair + k];
          }
      }
    }
    return result;
  }

  template <class Real>
  void write_row(double position, Real* row) const noexcept {
    auto const whole = detail::whole_part(position);
    if (static_cast<double>(whole) == position) return write_row(whole, row);
    detail::write_row_at(position, f_.steps(), row, detail::layout_of(f_));
  }
  template <class Real>
  void write_row(std::int64_t position, Real* row) const noexcept {
    if (position < -range_ || position > range_)
      return detail::write_row_at(position, f_.steps(), row, detail::layout_of(f_));
    auto const magnitude = position < 0 ? -position : position;
    auto const c = coarse_row(magnitude), f = magnitude - (c << fine_bits_);
    auto const* coarse = coarse_.data() + static_cast<std::size_t>(c) * row_lines_;
    auto const* fine = fine_.data() + static_cast<std::size_t>(f < 0 ? -f : f) * row_lines_;
    auto const sign_of = [](std::int64_t x) { return lanes::bits(x < 0 ? phase{1} << 63 : 0); };
    auto const fine_sign = sign_of(f), sign = sign_of(position);
    for (auto const [first, last] : f_.rotated_pairs()) {
      auto pair = first;
      for (; last - pair >= in_line; pair += in_line, coarse += 2, fine += 2)
        multiply(coarse, fine, fine_sign, sign, row + pair, row + f_.pairs() + pair);
      if (pair == last) continue;
      std::array<Real, in_line> cos, sin;
      multiply(coarse, fine, fine_sign, sign, cos.data(), sin.data());
      for (std::size_t k = 0; pair + k < last; ++k) {
        row[pair + k] = cos[k];
        row[f_.pairs() + pair + k] = sin[k];
      }
      coarse += 2, fine += 2;
    }
  }

  template <class Real>
  POSENC_ALWAYS_INLINE static void multiply(line const* coarse, line const* fine,
                                            lanes::bits const& fine_sign, lanes::bits const& sign,
                                            Real* cos, Real* sin) noexcept {
    auto const signed_by = [](lanes::bits const& minus, lanes::number const& x) {
      return lanes::as_number(lanes::as_bits(x) ^ minus);
    };
    auto const product = [&](std::size_t k) {
      auto const x = lanes::load(coarse[0].numbers + k), y = lanes::load(coarse[1].numbers + k);
      auto const u = lanes::load(fine[0].numbers + k),
                 v = signed_by(fine_sign, lanes::load(fine[1].numbers + k));
      return std::pair(lanes::multiply_subtract(x, u, y * v),
                       signed_by(sign, lanes::multiply_add(x, v, y * u)));
    };
    for (std::size_t k = 0; k < in_line; k += 2 * lanes::size) {
      auto const a = product(k), b = product(k + lanes::size);
      lanes::store(cos + k, a.first, b.first);
      lanes::store(sin + k, a.second, b.second);
    }
  }

  frequencies f_;
  std::int64_t range_;
  int fine_bits_ = 1;
  std::size_t row_lines_ = 0;
  table coarse_, fine_;
};

}}  // namespace posenc
