// The rows of a head in products of few rows, filled up to fours.
#pragma once

#include <cstddef>

#include "posenc/core/target.hpp"
#include "posenc/decode/detail/run_reader.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// How many rows are computed at a time: one, if that is less work than fours filled with zeros.
constexpr std::size_t rows_at_once(std::size_t rows) noexcept {
  return rows % 4 == 0 || (rows > 2 && rows % 4 > 1) ? 4 : 1;
}
/// The rows of a head, with the zeros that fill them up.
constexpr std::size_t padded_rows(std::size_t rows) noexcept {
  return rounded_up(rows, rows_at_once(rows));
}
/// Where row n of all heads lies if each head has `padded` rows for its `rows`.
constexpr std::size_t padded_row(std::size_t n, std::size_t rows, std::size_t padded) noexcept {
  return n / rows * padded + n % rows;
}

}}}  // namespace posenc::detail
