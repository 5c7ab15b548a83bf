#include "posenc/rotation/steps.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "posenc/rotation/layout.hpp"

namespace {

using namespace posenc;
using detail::rotated_part, detail::steps, detail::steps_of;

constexpr std::size_t mib = std::size_t{1} << 20;

// Interleaved floats: one column whatever the registers, or as many groups as no column has.
constexpr std::size_t one_column = detail::lanes<float>::size,
                      columns = 32 * detail::lanes<float>::size;
steps of(rotated_part const& part, bool zen) {
  return steps_of<interleaved, interleaved, float, float>(part, zen);
}

TEST(steps_of, one_column_are_all_tokens_and_heads) {
  for (bool const zen : {false, true}) {
    for (std::size_t const tokens : {std::size_t{1}, mib}) {
      auto const s = of({tokens, 6, one_column, true}, zen);
      EXPECT_EQ(s.tokens, tokens);
      EXPECT_EQ(s.heads, 6u);
      EXPECT_FALSE(s.pace.in_order);
      EXPECT_EQ(s.pace.ahead, tokens == mib && !zen);
      EXPECT_EQ(s.pace.apart, tokens == mib && zen);
    }
  }
}

TEST(steps_of, short_heads_are_alone_beyond_L3_on_zen_with_16_registers) {
  if (detail::lanes<float>::size == 1) GTEST_SKIP() << "one number is one column";
  auto const of_floats = [](std::size_t tokens, std::size_t dim, bool zen) {
    return steps_of<halves, halves, float, float>({tokens, 32, dim / 2, true}, zen);
  };
  for (bool const zen : {false, true}) {
    std::size_t const few = detail::has_32_registers ? 1 : 4;
    EXPECT_EQ(of_floats(mib, 200, zen).heads, zen ? 1u : few);
    EXPECT_EQ(of_floats(mib, 200, zen).pace.head_by_head, zen);
    EXPECT_EQ(of_floats(16 * mib / (32 * 801) - 1, 200, zen).heads, few);
    EXPECT_EQ(of_floats(mib, 264, zen).heads, few);
  }
}

TEST(steps_of, x_and_y_are_apart_on_zen_beyond_a_cache) {
  std::size_t const limit = detail::has_32_registers ? 32768 : mib;
  auto const of_token = 2 * (columns + 1) * sizeof(float) + 1, near = (limit - 1) / of_token;
  EXPECT_FALSE(of({near, 1, columns + 1, true}, true).pace.apart);
  EXPECT_TRUE(of({near + 1, 1, columns + 1, true}, true).pace.apart);
  EXPECT_FALSE(of({near + 1, 1, columns + 1, true}, false).pace.apart);
}

TEST(steps_of, a_token_larger_than_L1_goes_in_parts_on_zen_with_16_registers) {
  if (detail::lanes<float>::size == 1) GTEST_SKIP() << "one number is one column";
  auto const of_head = 2 * (columns + 1) * sizeof(float) + 1,
             most = 3 * std::size_t{16384} / of_head;
  for (bool const zen : {false, true}) {
    bool const in_parts = zen && !detail::has_32_registers;
    EXPECT_EQ(of({1, most, columns + 1, true}, zen).heads, most);
    EXPECT_EQ(of({2, most + 1, columns + 1, true}, zen).heads,
              in_parts ? 16384 / of_head : most + 1);
    EXPECT_EQ(of({2, most + 1, columns + 1, true}, zen).tokens, 1u);
    auto const heads_of_32_kib = 32768 / 2 / sizeof(float);
    EXPECT_EQ(of({1, 2, heads_of_32_kib, true}, zen).heads, in_parts ? 1u : 2u);
  }
}

TEST(steps_of, more_columns_are_what_stays_in_L1_or_few_heads) {
  if (detail::lanes<float>::size == 1) GTEST_SKIP() << "one number is one column";
  auto const of_token = 6 * (2 * columns * sizeof(float) + 1);
  auto const near = of({2, 6, columns, true}, false);
  EXPECT_EQ(near.tokens, 16384 / of_token + 1);
  EXPECT_EQ(near.heads, 6u);
  EXPECT_FALSE(near.pace.ahead || near.pace.in_order || near.pace.apart);
  auto const last_near = (mib - 1) / of_token;
  EXPECT_EQ(of({last_near, 6, columns, true}, false).heads, 6u);
  auto const beyond = of({last_near + 1, 6, columns, true}, false);
  EXPECT_EQ(beyond.tokens, 1u);
  EXPECT_EQ(beyond.heads, detail::has_32_registers ? 1u : 4u);
  EXPECT_TRUE(beyond.pace.ahead);
  EXPECT_FALSE(beyond.pace.in_order);
  EXPECT_EQ(of({mib, 2, columns, true}, false).heads, detail::has_32_registers ? 1u : 2u);
}

TEST(steps_of, one_head_is_alone_unless_fetching_ahead_pays) {
  for (bool const zen : {false, true}) {
    EXPECT_TRUE(of({8, 1, one_column, true}, zen).pace.head_by_head);
    EXPECT_FALSE(of({mib, 1, one_column, true}, zen).pace.head_by_head);
    EXPECT_FALSE(of({8, 2, one_column, true}, zen).pace.head_by_head);
    if (detail::lanes<float>::size == 1) continue;
    EXPECT_TRUE(of({8, 1, columns + 1, true}, zen).pace.head_by_head);
    EXPECT_FALSE(of({8, 2, columns + 1, true}, zen).pace.head_by_head);
    EXPECT_EQ(of({mib, 1, columns + 1, true}, zen).pace.head_by_head, zen);
    EXPECT_EQ(of({mib, 6, columns + 1, true}, zen).pace.head_by_head,
              zen && detail::has_32_registers);
    EXPECT_FALSE(of({mib, 1, columns, true}, true).pace.head_by_head);  // in order
  }
}

TEST(steps_of, more_columns_go_in_order_on_zen_if_in_one_pass) {
  if (detail::lanes<float>::size == 1) GTEST_SKIP() << "one number is one column";
  auto const s = of({mib, 6, columns, true}, true);
  EXPECT_EQ(s.tokens, mib);
  EXPECT_EQ(s.heads, 6u);
  EXPECT_TRUE(s.pace.in_order && s.pace.apart);
  EXPECT_TRUE(s.pace.row_ahead);
  EXPECT_FALSE(s.pace.ahead);
  auto const in_L3 = of({4 * mib / (6 * 2 * columns * sizeof(float)), 6, columns, true}, true);
  EXPECT_TRUE(in_L3.pace.in_order);
  EXPECT_FALSE(in_L3.pace.row_ahead);
  EXPECT_FALSE(of({mib, 6, columns, false}, true).pace.in_order);
  EXPECT_FALSE(of({mib, 6, columns + 1, true}, true).pace.in_order);  // a rest
  EXPECT_EQ(of({mib, 6, one_column, false}, true).tokens, 1u);
}

}  // namespace
