// From which position or distance on fields matter.
#include "posenc/analysis/compare/fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/compare/differing_layers.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace {

using namespace posenc;
using differing::fields, differing::layer;

TEST(fields, of_alibi_matter_from_where_slopes_part) {
  auto const with = [](std::size_t heads, double max_bias) {
    auto result = layer();
    result.alibi = alibi_bias{heads, max_bias};
    return result;
  };
  field_difference const quarter{"alibi", "", "4 heads, max bias 8", 3};
  EXPECT_EQ(fields(layer(), with(4, 8), 100, 0.5)[0], quarter);  // r / 4 > 1 / 2
  // 2^-2 and 2^-1, 2^-4 and 2^-2 ...: the first heads differ most, by 2^-2.
  EXPECT_EQ(fields(with(4, 8), with(4, 4), 100, 0.49)[0].from, 2);
  EXPECT_EQ(fields(with(4, 8), with(8, 16), 100, 0.0625)[0].from, 65);  // heads 5 to 8: 2^-10 ...
  auto scaled = with(4, 8);
  scaled.alibi->factor = 0.125;
  field_difference const eighth{"alibi", "", "4 heads, max bias 8, times 0.125", 17};
  EXPECT_EQ(fields(layer(), scaled, 100, 0.5)[0], eighth);
  EXPECT_TRUE(fields(with(4, 8), with(4, 8)).empty());
  EXPECT_EQ(fields(layer(), with(4, 8), 4, 0.5)[0].from, 3);  // distances end at 3
  EXPECT_EQ(fields(layer(), with(4, 8), 3, 0.5)[0].from, std::nullopt);
  EXPECT_EQ(fields(layer(), with(4, 8), 100, 1e300)[0].from, std::nullopt);
}

TEST(fields, of_temperatures_matter_from_the_first_position_off_by_the_threshold) {
  auto const with = [](position_temperature const& t) {
    auto result = layer();
    result.temperature = t;
    return result;
  };
  position_temperature const a{0.1, 64, 1}, b{0.3, 100, 0}, c{0.3, 2, 50};
  EXPECT_EQ(fields(layer(), with(a))[0].b, "1 + 0.1 ln(1 + floor((position + 1) / 64))");
  auto const beta = [](position_temperature const& t, double position) {
    return 1 + t.scale * std::log(1 + std::floor((position + t.offset) / t.floor_scale));
  };
  for (auto const& [x, y] : {std::pair(a, b), std::pair(b, a), std::pair(a, c)}) {
    for (auto const threshold : {0.01, 0.1, 0.2, 0.5}) {
      std::optional<std::int64_t> from;
      for (std::int64_t p = 0; p < 2000 && !from; ++p) {
        auto const of_x = beta(x, static_cast<double>(p)), of_y = beta(y, static_cast<double>(p));
        if (std::abs(of_x - of_y) > threshold * std::max(of_x, of_y)) from = p;
      }
      EXPECT_EQ(fields(with(x), with(y), 2000, threshold)[0].from, from) << threshold;
    }
  }
  EXPECT_EQ(fields(layer(), with(a), 64)[0].from, 63);
  EXPECT_EQ(fields(layer(), with(a), 63)[0].from, std::nullopt);
}

}  // namespace
