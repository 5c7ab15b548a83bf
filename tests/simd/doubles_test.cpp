#include "posenc/simd/doubles.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"

namespace {

using namespace posenc::detail;
using registers = lanes<double>;
using number = typename registers::number;

TEST(doubles, of_a_row_are_each_changed_once_and_rounded_once) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t count = 0; count < 40; ++count) {
      auto row = numbers::random<T>(count + 1), expected = row;
      for (std::size_t i = 0; i < count; ++i)
        expected[i] = static_cast<T>(static_cast<double>(expected[i]) * (1.0 / 3));
      std::size_t next = 0;
      change_doubles(std::span(row).first(count), [&](number const& x, std::size_t first) {
        EXPECT_EQ(first, next);
        next += registers::size;
        return number(x * number(1.0 / 3));
      });
      EXPECT_TRUE(numbers::same_bits(row, expected)) << "of " << count << ", and not the next";
    }
  });
}

TEST(doubles, beyond_a_row_are_0) {
  std::vector<float> const row{1, 2, 3};
  std::array<double, registers::size> seen;
  registers::store(seen.data(), doubles_of(std::span<float const>(row), 2));
  EXPECT_EQ(seen[0], 3);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_EQ(seen[i], 0);
}

TEST(doubles, of_a_row_fill_whole_registers) {
  for (std::size_t count = 0; count < 20; ++count) {
    std::vector<float> const row(count, 0.5f);
    auto const all = doubles_of(std::span<float const>(row));
    ASSERT_TRUE(all.size() % registers::size == 0 && all.size() < count + registers::size);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i < count ? 0.5 : 0);
  }
}

TEST(doubles, are_chosen_where_another_is_finite) {
  for (double const of : {0.0, -1e308, not_a_number(), infinity(), minus_infinity()}) {
    std::array<double, registers::size> chosen;
    chosen.fill(of);
    registers::store(chosen.data(), where_finite(registers(), registers::load(chosen.data()),
                                                 number(1.0), number(2.0)));
    for (auto const x : chosen) EXPECT_EQ(x, posenc::is_finite(of) ? 1 : 2);
  }
}

TEST(doubles, are_differences_of_integers_that_are_not_negative_and_below_2_to_the_52) {
  auto const expect = [](std::int64_t from, std::int64_t last, bool is_exact) {
    std::array<std::int64_t, registers::size> to;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from - static_cast<std::int64_t>(i);
    to.back() = last;
    number result(0.0);
    ASSERT_EQ(differences(registers(), from, to.data(), result), is_exact) << from << " " << last;
    if (!is_exact) return;
    std::array<double, registers::size> exact;
    registers::store(exact.data(), result);
    for (std::size_t i = 0; i < to.size(); ++i)
      EXPECT_EQ(exact[i], static_cast<double>(from - to[i]));
  };
  constexpr auto most = (std::int64_t{1} << 52) - 1;
  for (std::int64_t const from : {0, 5, -1'000'000}) {
    expect(from, from, true);
    expect(from, from - 7, true);
    expect(from, from - most, true);
    expect(from, from - most - 1, false);
    expect(from, from + 1, false);
  }
}

TEST(doubles, are_all_within_a_range_or_not) {
  auto const of = [](double last) {
    std::array<double, registers::size> x;
    x.fill(1);
    x.back() = last;
    return all_within(registers(), registers::load(x.data()), 0.5, 2);
  };
  EXPECT_TRUE(of(1));
  EXPECT_TRUE(of(0.5));
  EXPECT_FALSE(of(0.4));
  EXPECT_FALSE(of(2));
  EXPECT_TRUE(of(1.9));
}

}  // namespace
