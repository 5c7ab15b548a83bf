#include "../examples/program/curves/landmarks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {
namespace of_landmarks {

using curves::landmarks;
using list = std::vector<std::size_t>;

TEST(landmarks, are_round_steps_and_the_last) {
  EXPECT_EQ(landmarks(512, 8), (list{0, 1, 4, 16, 64, 256, 511}));
  EXPECT_EQ(landmarks(512, 6), (list{0, 1, 8, 64, 511}));
  EXPECT_EQ(landmarks(30'000, 8), (list{0, 1, 8, 64, 512, 4096, 29'999}));
}

// Each once and in order, the first and the last among them, and no more than there is room for,
// in a table of any width: a step that could not grow filled memory.
TEST(landmarks, fit_any_table) {
  for (std::size_t const range :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{20'000},
        std::size_t{20'001}, std::size_t{1} << 22, SIZE_MAX - 1, SIZE_MAX}) {
    for (std::size_t most = 2; most < 40; ++most) {
      auto const found = landmarks(range, most);
      ASSERT_FALSE(found.empty());
      EXPECT_LE(found.size(), most) << range;
      EXPECT_EQ(found.front(), 0u);
      EXPECT_EQ(found.back(), range - 1);
      for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LT(found[i - 1], found[i]);
    }
  }
  EXPECT_EQ(landmarks(0, 2), list());
  EXPECT_EQ(landmarks(1, 2), list{0});
}

}  // namespace of_landmarks
}  // namespace
