// A tile of a product, of integers: exact, in any order of sums.
#include "posenc/simd/tile.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "numbers.hpp"

namespace {

using namespace posenc::detail;

template <class T>
void expect_product(std::size_t rows, std::size_t columns, std::size_t terms, bool adds) {
  constexpr std::size_t whole = tile_columns<T>;
  auto const small = [](std::size_t i, std::size_t by) {
    return static_cast<T>(i * by % 31) - T{15};
  };
  std::vector<T> a(rows * (terms + 2)), panel(terms * whole), to(rows * (columns + 3) + 1, T{7});
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = small(i, 7);
  for (std::size_t i = 0; i < panel.size(); ++i) panel[i] = small(i, 11);
  auto const before = to;
  multiply(tile<T>{to.data(), columns + 3, rows_of_tile(a.data(), terms + 2, rows), 1, panel.data(),
                   terms, T{2}, adds},
           rows, columns);
  for (std::size_t i = 0; i < to.size(); ++i) {
    auto const r = i / (columns + 3), c = i % (columns + 3);
    auto expected = before[i];
    if (r < rows && c < columns) {
      T sum = 0;
      for (std::size_t n = 0; n < terms; ++n) sum += a[r * (terms + 2) + n] * panel[n * whole + c];
      expected = 2 * sum + (adds ? before[i] : T{0});
    }
    ASSERT_EQ(to[i], expected) << rows << " x " << columns << ", " << terms << " terms: " << i;
  }
}

TEST(tile, is_the_product_of_its_rows_and_columns_and_no_more) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t rows = 1; rows <= tile_rows; ++rows)
      for (std::size_t columns = 1; columns <= tile_columns<T>; ++columns)
        for (auto const terms : {std::size_t{1}, std::size_t{9}, tile_terms})
          for (auto const adds : {false, true}) expect_product<T>(rows, columns, terms, adds);
  });
}

TEST(tile, steps_from_term_to_term_and_repeats_the_last_row) {
  std::vector<float> const a{1, 2, 3, 4, 5, 6};
  auto const rows = rows_of_tile(a.data(), 2, 3);
  for (std::size_t r = 0; r < tile_rows; ++r) EXPECT_EQ(rows[r], a.data() + (r < 3 ? 2 * r : 4));
  std::vector<float> panel(2 * tile_columns<float>, 1.0f), to(3);
  multiply(tile<float>{to.data(), 1, rows_of_tile(a.data(), 1, 3), 3, panel.data(), 2, 1.0f, false},
           3, 1);
  EXPECT_EQ(to, (std::vector<float>{1 + 4, 2 + 5, 3 + 6}));
}

}  // namespace
