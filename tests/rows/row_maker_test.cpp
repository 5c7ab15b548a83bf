#include "posenc/rows/row_maker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

// 33 pairs, some of frequency 0: no whole registers.
frequencies some_frequencies(double factor = 1) {
  return truncated(geometric(66, 1e4), 0.7).with_attention_factor(factor);
}

template <class Real>
void expect_same(cos_sin_view<Real> const& actual, cos_sin_rows<Real> const& expected) {
  ASSERT_EQ(actual.tokens(), expected.tokens());
  EXPECT_TRUE(std::ranges::equal(actual.rotated_pairs(), expected.view().rotated_pairs()));
  for (std::size_t token = 0; token < expected.tokens(); ++token) {
    EXPECT_TRUE(std::ranges::equal(actual.cos(token), expected.cos(token))) << token;
    EXPECT_TRUE(std::ranges::equal(actual.sin(token), expected.sin(token))) << token;
  }
}

template <class Position, class Real>
void writes_the_rows_of(row_maker const& maker, frequencies const& f,
                        std::vector<Position> const& positions) {
  std::vector<Real> memory(positions.size() * maker.rotary_dim() + 1,
                           std::numeric_limits<Real>::max());
  static_assert(noexcept(maker.write(positions, memory.data())));
  auto const rows = maker.write(positions, memory.data());
  EXPECT_EQ(rows.cos(0).data(), memory.data());
  expect_same(rows, cos_sin_rows<Real>(f, positions));
  EXPECT_EQ(memory.back(), std::numeric_limits<Real>::max()) << "nothing is written beyond";
}

TEST(row_maker, writes_the_rows_of_cos_sin_rows_to_the_bit) {
  for (auto const factor : {1.0, 1.25}) {
    auto const f = some_frequencies(factor);
    row_maker const maker(f);
    EXPECT_EQ(maker.pairs(), 33u);
    EXPECT_EQ(maker.rotary_dim(), 66u);
    writes_the_rows_of<std::int64_t, float>(
        maker, f,
        {0, 7, -3, 1'000'000, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::min()});
    writes_the_rows_of<std::int64_t, double>(maker, f,
                                             {0, 7, -3, 1'000'000, std::int64_t{1} << 40});
    writes_the_rows_of<std::int32_t, float>(maker, f, {5, -1, 2'000'000'000});
    writes_the_rows_of<std::uint16_t, double>(maker, f, {5, 65'535});
    writes_the_rows_of<std::uint64_t, float>(maker, f, {5, std::uint64_t{1} << 62});
  }
}

TEST(row_maker, rows_rotate) {
  auto const f = some_frequencies();
  std::vector<int> const positions{4, 9};
  auto a = numbers::random<float>(2 * 66), b = a;
  std::vector<float> memory(a.size());
  rotate<halves>(heads_view(a.data(), {2, 1, 66}), row_maker(f).write(positions, memory.data()));
  rotate<halves>(heads_view(b.data(), {2, 1, 66}), cos_sin_rows(f, positions));
  EXPECT_TRUE(numbers::same_bits(a, b));
}

TEST(row_maker, of_no_positions_writes_nothing) {
  EXPECT_EQ(row_maker(some_frequencies()).write<float>(std::vector<int>(), nullptr).tokens(), 0u);
}

template <class P>
void writes_the_axis_rows_of(std::vector<std::vector<P>> const& of_axis) {
  auto const f = some_frequencies(1.25);
  auto const axes = contiguous_axes(std::vector<std::size_t>{10, 11, 12});
  axis_row_maker const maker(f, axes);
  auto const tokens = of_axis[0].size();
  std::vector<P> flat;
  for (auto const& one : of_axis) flat.insert(flat.end(), one.begin(), one.end());
  std::vector<float> memory(tokens * maker.rotary_dim() + 1, 9);
  expect_same(maker.write(flat.data(), tokens, memory.data()),
              axis_rows(f, axes, axis_positions<P>(of_axis)));
  EXPECT_EQ(memory.back(), 9);
}

TEST(axis_row_maker, writes_the_rows_of_axis_rows_to_the_bit) {
  writes_the_axis_rows_of<std::int64_t>(
      {{0, 5, 1, -7}, {0, 6, std::int64_t{1} << 40, 3}, {0, 7, 2, 3}});
  writes_the_axis_rows_of<std::int32_t>({{0, 5, 1, -7}, {0, 6, 1 << 30, 3}, {0, 7, 2, 3}});
}

TEST(axis_row_maker, needs_an_axis_for_every_pair) {
  EXPECT_EQ(message_of([] {
              axis_row_maker(geometric(8, 1e4), contiguous_axes(std::vector<std::size_t>{1, 2}));
            }),
            "posenc: axis_rows: axes must be given for each of the 4 pairs, got 3");
}

}  // namespace
