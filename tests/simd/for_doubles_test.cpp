#include "posenc/simd/for_doubles.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "numbers.hpp"

namespace {

using namespace posenc::detail;

TEST(for_doubles, shows_each_number_of_a_row_once) {
  for (std::size_t count = 0; count < 40; ++count) {
    auto const row = numbers::random<float>(count);
    std::vector<double> seen;
    for_doubles<float>(row, [&](auto const& x, std::size_t first, std::size_t some) {
      EXPECT_EQ(first, seen.size());
      std::array<double, lanes<double>::size> wide;
      lanes<double>::store(wide.data(), x);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        if (i < some) {
          seen.push_back(wide[i]);
        } else {
          EXPECT_EQ(wide[i], 0) << "padding";
        }
      }
    });
    EXPECT_EQ(seen, numbers::exact(row));
  }
}

}  // namespace
