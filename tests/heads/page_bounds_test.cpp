#include "posenc/heads/page_bounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q8_0.hpp"
#include "rejects.hpp"

namespace of_page_bounds { namespace {

using posenc::arithmetic_t;
using posenc::heads_view;
using posenc::in_pages;
using posenc::page_bounds;
using posenc::pages_shape;

using slots = std::vector<std::int64_t>;

// The bounds of one dim, by a sort of its numbers.
template <class Keys, class Real>
void expect_bounds(Keys const& keys, std::size_t page_tokens, std::vector<Real> const& bounds) {
  auto const heads = keys.heads(), dim = keys.head_dim();
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    auto const d = i % dim, head = i / dim / 2 % heads, page = i / dim / 2 / heads;
    std::vector<Real> all;
    for (auto t = page * page_tokens; t < std::min((page + 1) * page_tokens, keys.tokens()); ++t) {
      if (!keys.has(t)) continue;
      std::vector<Real> numbers(dim);
      keys.read(t, head, numbers);
      all.push_back(numbers[d]);
    }
    std::ranges::sort(all);
    ASSERT_EQ(bounds[i], all.empty()        ? 0
                         : i / dim % 2 == 0 ? all.front()
                                            : all.back())
        << "page " << page << ", head " << head << ", dim " << d;
  }
}

template <class T>
void expect_bounds_of_numbers() {
  auto const x = numbers::random<T>(11 * 3 * 7);
  heads_view const keys(x.data(), {11, 3, 7});
  for (std::size_t const page_tokens : {1u, 4u, 11u, 30u}) {
    std::vector<arithmetic_t<T>> bounds((11 + page_tokens - 1) / page_tokens * 3 * 2 * 7);
    page_bounds(keys, page_tokens, bounds);
    expect_bounds(keys, page_tokens, bounds);
  }
}

TEST(page_bounds, are_the_least_and_largest_numbers_of_each_dim) {
  expect_bounds_of_numbers<float>();
  expect_bounds_of_numbers<double>();
  expect_bounds_of_numbers<posenc::half>();
  expect_bounds_of_numbers<posenc::bfloat16>();
}

// Pages of tokens are not those of memory; some tokens, and all of a page, have no slot.
template <class Format>
void expect_bounds_in(Format const& format, std::size_t bytes) {
  std::vector<std::byte> memory(3 * 4 * 2 * bytes);
  slots const which{5, 0, -1, 11, -1, -1, 7, 2, 4};
  heads_view<Format, in_pages> const keys(format, memory.data(), pages_shape{3, 4, 2, 64}, which);
  auto const x = numbers::random<float>(9 * 2 * 64);
  for (std::size_t t = 0; t < 9; ++t)
    for (std::size_t h = 0; h < 2; ++h)
      keys.write(t, h, std::span(x).subspan((t * 2 + h) * 64, 64));
  for (std::size_t const page_tokens : {1u, 2u, 4u, 9u}) {
    std::vector<float> bounds((9 + page_tokens - 1) / page_tokens * 2 * 2 * 64, 7);
    page_bounds(keys, page_tokens, bounds);
    expect_bounds(keys, page_tokens, bounds);
  }
}

TEST(page_bounds, are_those_of_codes_as_they_are_decoded) {
  expect_bounds_in(posenc::q8_0(), posenc::q8_0().bytes(64));
  expect_bounds_in(posenc::int8_per_head(), 64 + 4);
}

TEST(page_bounds, bound_the_product_with_every_key) {
  auto const x = numbers::random<float>(32 * 16), q = numbers::random<float>(16, 2);
  heads_view const keys(x.data(), {32, 1, 16});
  std::vector<float> bounds(4 * 2 * 16);
  page_bounds(keys, 8, bounds);
  for (std::size_t t = 0; t < 32; ++t) {
    double product = 0, bound = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      auto const *const least = bounds.data() + t / 8 * 32, *const largest = least + 16;
      product += double{q[i]} * double{x[t * 16 + i]};
      bound += std::max(double{q[i]} * double{least[i]}, double{q[i]} * double{largest[i]});
    }
    EXPECT_LE(product, bound);
  }
}

TEST(page_bounds, of_some_pages_alone_are_theirs) {
  auto const x = numbers::random<float>(10 * 2 * 8);
  heads_view const keys(x.data(), {10, 2, 8});
  std::vector<float> all(3 * 2 * 2 * 8), last(2 * 2 * 8);
  page_bounds(keys, 4, all), page_bounds(keys.slice_tokens(8, 2), 4, last);
  EXPECT_TRUE(std::ranges::equal(last, std::span(all).subspan(2 * 2 * 2 * 8)));
}

TEST(page_bounds, refuse_room_for_other_pages) {
  std::vector<float> const x(10 * 2 * 8);
  auto const expect = [&](std::size_t tokens, std::size_t page_tokens, std::size_t room,
                          std::string const& message) {
    std::vector<float> bounds(room, 7);
    heads_view const keys(x.data(), {tokens, 2, 8});
    EXPECT_EQ(message_of([&] { page_bounds(keys, page_tokens, bounds); }),
              "posenc: page_bounds: " + message);
    EXPECT_EQ(bounds, std::vector<float>(room, 7));
  };
  expect(10, 0, 96, "pages must have a token, got 0");
  for (std::size_t const room : {0u, 1u, 64u, 95u, 97u, 192u})
    expect(
        10, 4, room,
        "bounds must be [3 pages][2 heads][2][8 dims], got " + std::to_string(room) + " numbers");
  expect(0, 4, 1, "bounds must be [0 pages][2 heads][2][8 dims], got 1 numbers");
  page_bounds(heads_view(x.data(), {0, 2, 8}), 4, {});
}

// 2^60 heads that are one, as strides of 0 make them: no room has their bounds, though the product
// of the numbers is 0 modulo 2^64.
TEST(page_bounds, refuse_room_for_more_numbers_than_a_size_counts) {
  std::array<float, 8> const x{};
  heads_view const keys(x.data(), {2, std::size_t{1} << 60, 8}, {0, 0});
  EXPECT_EQ(message_of([&] { page_bounds(keys, 2, std::span<float>()); }),
            "posenc: page_bounds: bounds must be [1 pages][1152921504606846976 heads][2][8 dims], "
            "got 0 numbers");
}

}  // namespace
}  // namespace of_page_bounds
