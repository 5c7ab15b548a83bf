#include "posenc/adapter/row_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "non_numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

std::vector<float> numbers_of(cos_sin_view<float> rows) {
  std::vector<float> result;
  for (std::size_t token = 0; token < rows.tokens(); ++token) {
    result.insert(result.end(), rows.cos(token).begin(), rows.cos(token).end());
    result.insert(result.end(), rows.sin(token).begin(), rows.sin(token).end());
  }
  return result;
}

// The rows from the cache are those that are made for them.
template <class Positions>
void expect_rows(row_cache& cache, frequencies const& f, Positions const& positions) {
  cos_sin_rows<float> const made(f, positions);
  EXPECT_EQ(numbers_of(cache.rows(f, positions)), numbers_of(made));
}

TEST(row_cache, keeps_the_rows_of_equal_content_wherever_it_lies) {
  row_cache cache;
  auto const f = geometric(32, 1e4);
  std::vector<std::int64_t> positions{0, 7, 1'000'000, -3};
  expect_rows(cache, f, positions);
  EXPECT_EQ(cache.size(), 1u);
  auto const* const first = cache.rows(f, positions).cos(0).data();
  auto const copy = positions;
  auto const same = geometric(32, 1e4);
  EXPECT_EQ(cache.rows(same, copy).cos(0).data(), first);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(row_cache, makes_rows_for_new_content_at_the_same_address) {
  row_cache cache;
  auto const f = geometric(32, 1e4);
  std::vector<std::int32_t> positions{1, 2, 3};
  expect_rows(cache, f, positions);
  positions[2] = 4;
  expect_rows(cache, f, positions);
  positions[0] = -1;
  expect_rows(cache, f, positions);
  expect_rows(cache, f, std::span(positions).first(2));
  expect_rows(cache, f, std::span(positions).first(0));
  EXPECT_EQ(cache.size(), 5u);
  auto changing = geometric(32, 1e4);
  expect_rows(cache, changing, positions);
  EXPECT_EQ(cache.size(), 5u);
  changing = geometric(32, 2e4);
  expect_rows(cache, changing, positions);
  EXPECT_EQ(cache.size(), 6u);
}

TEST(row_cache, tells_frequencies_apart_at_equal_positions) {
  row_cache cache;
  std::vector<int> const positions{12'345};
  auto const f = geometric(32, 1e4);
  expect_rows(cache, f, positions);
  expect_rows(cache, geometric(30, 1e4), positions);
  expect_rows(cache, geometric(32, 1e6), positions);
  expect_rows(cache, f.with_attention_factor(1.5), positions);
  // Frequencies whose doubles are equal, and only their rounding errors differ.
  std::vector<double> const doubles(f.inv_freq().begin(), f.inv_freq().end());
  expect_rows(cache, frequencies(doubles), positions);
  EXPECT_EQ(cache.size(), 5u);
}

// Equal bytes, other numbers.
TEST(row_cache, tells_types_of_positions_apart) {
  row_cache cache;
  auto const f = geometric(8, 1e4);
  expect_rows(cache, f, std::array<std::int32_t, 2>{1, 0});
  expect_rows(cache, f, std::array<std::int64_t, 1>{1});
  expect_rows(cache, f, std::array<std::int16_t, 4>{1, 0, 0, 0});
  expect_rows(cache, f, std::array<std::uint32_t, 1>{0xffff'ffffu});
  expect_rows(cache, f, std::array<std::int32_t, 1>{-1});
  expect_rows(cache, f, std::array<double, 1>{1.5});
  expect_rows(cache, f, std::array<std::int64_t, 1>{0x3ff8'0000'0000'0000});
  EXPECT_EQ(cache.size(), 7u);
}

TEST(row_cache, lets_the_least_recently_used_rows_go) {
  row_cache cache;
  auto const f = geometric(8, 1e4);
  int made = 0;
  auto const rows = [&](int key, int position) {
    std::array const parts{std::as_bytes(std::span(&key, 1))};
    return cache
        .rows(parts,
              [&] {
                ++made;
                return cos_sin_rows<float>(f, std::array{position});
              })
        .sin(0)[0];
  };
  auto const of = [&](int position) {
    return cos_sin_rows<float>(f, std::array{position}).sin(0)[0];
  };
  for (int i = 0; i < 16; ++i) EXPECT_EQ(rows(i, i), of(i));
  EXPECT_EQ(rows(0, -1), of(0));  // used again
  EXPECT_EQ(made, 16);
  EXPECT_EQ(rows(16, 16), of(16));  // 1 goes
  EXPECT_EQ(cache.size(), 16u);
  EXPECT_EQ(made, 17);
  for (int i : {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
    EXPECT_EQ(rows(i, -1), of(i)) << i;
  EXPECT_EQ(made, 17);
  EXPECT_EQ(rows(1, 101), of(101));
  EXPECT_EQ(made, 18);
}

TEST(row_cache, keeps_to_its_bytes_except_for_the_last_rows) {
  auto const f = geometric(8, 1e4);
  // A content of 4 sizes, 8 doubles, a factor, and the positions; and the rows.
  auto const bytes_of = [](std::size_t tokens) { return 32 + 64 + 8 + tokens * (4 + 32); };
  row_cache cache(3 * bytes_of(1));
  for (int i = 0; i < 10; ++i) {
    expect_rows(cache, f, std::array{i});
    EXPECT_EQ(cache.size(), static_cast<std::size_t>(std::min(i + 1, 3)));
    EXPECT_EQ(cache.bytes(), cache.size() * bytes_of(1));
  }
  expect_rows(cache, f, std::vector<int>(1000, 5));  // larger than all that may be kept
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), bytes_of(1000));
  expect_rows(cache, f, std::vector<int>(1000, 5));
  EXPECT_EQ(cache.size(), 1u);
  expect_rows(cache, f, std::array{5});
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), bytes_of(1));
}

TEST(row_cache, is_as_it_was_after_an_error) {
  row_cache cache;
  auto const f = geometric(8, 1e4);
  expect_rows(cache, f, std::array{1});
  auto const bytes = cache.bytes();
  EXPECT_EQ(message_of([&] { cache.rows(f, std::array{not_a_number()}); }),
            "posenc: cos_sin_rows: a position must be finite and within [-2^63, 2^63), got NaN at "
            "token 0");
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), bytes);
  expect_rows(cache, f, std::array{1});
  EXPECT_EQ(cache.size(), 1u);
}

TEST(row_cache, keeps_makers) {
  row_cache cache;
  int made = 0;
  auto const maker = [&](int base) -> axis_row_maker const& {
    std::array<std::span<std::byte const>, 1> const parts{std::as_bytes(std::span(&base, 1))};
    return cache.maker(parts, [&] {
      ++made;
      return axis_row_maker(geometric(8, base), pair_axes({0, 1, 0, 1}));
    });
  };
  std::vector<std::int32_t> const positions{3, 0};
  auto const cos = [&](int base) {
    std::vector<float> memory(8);
    return maker(base).write(positions, memory.data()).cos(0)[2];
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(cos(100)), std::cos(0.3), 1e-7);
    EXPECT_NEAR(static_cast<double>(cos(10'000)), std::cos(0.03), 1e-7);
  }
  EXPECT_EQ(made, 2);
  for (int base = 2; base < 20; ++base) (void)maker(base);
  EXPECT_EQ(made, 20);
  (void)maker(100);  // it left
  EXPECT_EQ(made, 21);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(row_cache, searches_without_throwing) {
  row_cache cache;
  int const key = 3, other = 4;
  std::array const parts{std::as_bytes(std::span(&key, 1))};
  std::array const others{std::as_bytes(std::span(&other, 1))};
  static_assert(noexcept(cache.find(parts)));
  EXPECT_EQ(cache.find(parts), nullptr);
  (void)cache.rows(parts, [] { return cos_sin_rows<float>(geometric(8, 1e4), std::array{1}); });
  ASSERT_NE(cache.find(parts), nullptr);
  EXPECT_EQ(cache.find(parts)->tokens(), 1u);
  EXPECT_EQ(cache.find(others), nullptr);
  // A content that begins or ends as another.
  std::array const longer{parts[0], others[0]};
  EXPECT_EQ(cache.find(longer), nullptr);
  EXPECT_EQ(cache.find(std::span(parts).first(0)), nullptr);
}

}  // namespace
