#include "posenc/core/detail/line_memory.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using posenc::detail::line_vector;

template <class Real>
void begins_a_line() {
  std::vector<line_vector<Real>> all;  // alive together: neighbours would overwrite each other
  for (std::size_t size = 1; size < 200; ++size) {
    line_vector<Real> numbers(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % 64, 0u) << size;
    std::iota(numbers.begin(), numbers.end(), static_cast<Real>(size));
    all.push_back(std::move(numbers));
  }
  for (auto const& numbers : all) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      ASSERT_EQ(numbers[i], static_cast<Real>(numbers.size() + i)) << numbers.size();
  }
}

TEST(line_allocator, begins_a_line_and_overlaps_nothing) {
  begins_a_line<float>(), begins_a_line<double>(), begins_a_line<std::uint64_t>();
}

TEST(line_allocator, keeps_numbers_as_a_vector_grows) {
  line_vector<double> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<double>(i));
}

TEST(line_allocator, writes_a_value_where_one_is_given) {
  for (auto const number : line_vector<double>(100, 0)) EXPECT_EQ(number, 0);
  for (auto const number : line_vector<float>(100, 3)) EXPECT_EQ(number, 3);
}

}  // namespace
