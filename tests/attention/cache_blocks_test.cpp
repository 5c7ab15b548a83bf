#include "posenc/attention/cache_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/storage.hpp"

namespace {

using namespace posenc;

TEST(cache_blocks, have_every_token_of_every_head_once_in_reading_order) {
  constexpr std::size_t heads = 3, dims = 5, tokens = 30;
  std::vector<float> const numbers(tokens * heads * dims);
  heads_view<float const> const cache(numbers.data(), {tokens, heads, dims});
  using range = std::pair<std::size_t, std::size_t>;
  for (auto const& [from, to] : {range{0, 0}, range{0, 1}, range{3, 11}, range{9, 30}}) {
    std::vector<float const*> read;
    detail::for_blocks(cache, from, to, 8, [&](std::size_t head, std::size_t first, auto const& b) {
      for (std::size_t t = 0; t < b.count; ++t) {
        EXPECT_EQ(b.tokens[t], cache(first + t, head).data());
        read.push_back(b.tokens[t]);
      }
    });
    std::vector<float const*> expected;
    for (auto first = from; first < to; first += 8) {
      for (std::size_t head = 0; head < heads; ++head) {
        for (auto t = first; t < std::min(first + 8, to); ++t)
          expected.push_back(cache(t, head).data());
      }
    }
    EXPECT_EQ(read, expected);
  }
}

TEST(cache_blocks, are_ahead_of_others_of_the_cache) {
  constexpr std::size_t tokens = 100, heads = 2, dims = 64;
  std::vector<float> const numbers(tokens * heads * dims);
  heads_view<float const> const cache(numbers.data(), {tokens, heads, dims});
  constexpr std::size_t later = detail::prefetched_ahead / (heads * dims * sizeof(float));
  detail::for_blocks(cache, 0, tokens, 8, [&](std::size_t head, std::size_t first, auto const& b) {
    auto const expect_ahead = [&](std::uintptr_t bytes, std::size_t by) {
      bool const has_later = first + by + b.count <= tokens;
      for (std::size_t t = 0; t < b.count; ++t) {
        auto const* const expected = cache(first + t + (has_later ? by : 0), head).data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.tokens[t]) + bytes,
                  reinterpret_cast<std::uintptr_t>(expected));
      }
    };
    expect_ahead(b.ahead, later);
    expect_ahead(b.far_ahead, 2 * later);
  });
}

TEST(cache_blocks, prefetch_in_one_way) {
  int calls = 0;
  detail::with_prefetches([&](auto constant) {
    static_assert(std::is_same_v<typename decltype(constant)::value_type, detail::prefetches>);
    ++calls;
    if (detail::is_zen_4()) {
      EXPECT_EQ(constant, detail::prefetches::into_l2);
    }
    std::array<float, 3 * 20> const matrix{};
    auto const* const first = matrix.data();
    detail::prefetch<1, constant>(first, 0);
    detail::prefetch<1, constant>(first, std::uintptr_t{1} << 20);  // any address
    std::size_t const on_zen_4 = constant == detail::prefetches::into_l2;
    EXPECT_EQ((detail::prefetch_column<constant>(first, 3, 20, 0)), 3 * on_zen_4);
    EXPECT_EQ((detail::prefetch_column<constant>(first, 3, 20, 16)), 3 * on_zen_4);
    EXPECT_EQ((detail::prefetch_column<constant>(first, 3, 20, 8)), 0u);   // within a line
    EXPECT_EQ((detail::prefetch_column<constant>(first, 3, 20, 32)), 0u);  // beyond the columns
    detail::token_block<float> block;
    block.tokens.fill(first), block.count = 8, block.far_ahead = 1 << 20;
    EXPECT_EQ((detail::prefetch_pages<constant>(block, 0, 3)), 3 * on_zen_4);  // 0, 3, 6
    EXPECT_EQ((detail::prefetch_pages<constant>(block, 2, 3)), 2 * on_zen_4);  // 2, 5
    block.count = 9;
    EXPECT_EQ((detail::prefetch_pages<constant>(block, 0, 3)), 0u);
    block.count = 8, block.far_ahead = 0;
    EXPECT_EQ((detail::prefetch_pages<constant>(block, 0, 3)), 0u);
  });
  EXPECT_EQ(calls, 1);
}

// A product of two registers in the order of S is a product of their numbers.
template <class S>
void expect_one_order() {
  using registers = detail::lanes<float>;
  constexpr std::size_t size = registers::size;
  std::vector<float> numbers(2 * size), ordered(2 * size), back(2 * size);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  std::vector<S> stored;
  for (auto const x : numbers) stored.push_back(S(x));
  typename registers::number x, y, of_x, of_y;
  detail::load_two<S>(numbers.data(), x, y);
  detail::load_two<S>(stored.data(), of_x, of_y);
  registers::store(ordered.data(), x - of_x), registers::store(ordered.data() + size, y - of_y);
  EXPECT_EQ(ordered, std::vector<float>(2 * size)) << "stored numbers and others meet";
  detail::store_two<S>(back.data(), x, y);
  EXPECT_EQ(back, numbers);
}

TEST(cache_blocks, load_numbers_of_any_format_in_one_order) {
  expect_one_order<float>();
  expect_one_order<half>();
  expect_one_order<bfloat16>();
}

TEST(cache_blocks, aligned_numbers_start_at_a_line_and_are_0) {
  for (std::size_t const count : {1u, 100u, 1000u}) {
    detail::aligned_numbers<float> numbers(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % 64, 0u);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(numbers.data()[i], 0);
  }
}

}  // namespace
