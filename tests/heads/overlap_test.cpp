#include "posenc/heads/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"

namespace of_memory_range {
namespace {

using posenc::heads_shape;
using posenc::heads_strides;
using posenc::heads_view;
using posenc::in_pages;
using posenc::pages_strides;
using posenc::detail::may_overlap;

// Strides of either sign fit if data points to the middle.
std::array<float, 4096> memory;
float* const middle = memory.data() + memory.size() / 2;

// Whether two views share memory, byte by byte.
template <class S, class T>
bool shares(heads_view<S> const& a, heads_view<T> const& b) {
  for (std::size_t s = 0; s < a.tokens() * a.heads(); ++s)
    for (std::size_t t = 0; t < b.tokens() * b.heads(); ++t) {
      auto const x = a(s / a.heads(), s % a.heads());
      auto const y = b(t / b.heads(), t % b.heads());
      auto const first = reinterpret_cast<std::uintptr_t>(x.data()),
                 second = reinterpret_cast<std::uintptr_t>(y.data());
      if (first < second + y.size_bytes() && second < first + x.size_bytes()) return true;
    }
  return false;
}

// Two views, with or without common strides: may_overlap is exact.
template <class S, class T>
void expect_exact(std::uint32_t seed) {
  std::mt19937 random(seed);
  auto const up_to = [&](std::size_t n) { return 1 + random() % n; };
  auto const between = [&](int least, int most) {
    return static_cast<std::ptrdiff_t>(random() % static_cast<unsigned>(most - least + 1)) + least;
  };
  int shared = 0, known_apart = 0;
  for (int i = 0; i < 200'000; ++i) {
    heads_shape const of_a{up_to(4), up_to(4), up_to(4)}, of_b{up_to(4), up_to(4), up_to(4)};
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(S)),
                   other_size = static_cast<std::ptrdiff_t>(sizeof(T));
    auto const multiple = size * other_size;
    heads_strides a{between(-20, 40), between(-12, 20)};
    if (random() % 2 == 0) a.token = a.head * between(-4, 8);
    heads_strides b{between(-20, 40), between(-12, 20)};
    if (random() % 4 != 0)
      a.token = a.token * multiple / size, b.token = a.token * size / other_size;
    if (random() % 4 != 0) a.head = a.head * multiple / size, b.head = a.head * size / other_size;
    auto const offset = between(-60, 60);
    heads_view<S const> const x(reinterpret_cast<S const*>(middle), of_a, a);
    heads_view<T const> const y(reinterpret_cast<T const*>(middle) + offset, of_b, b);
    bool const share = shares(x, y), may = may_overlap(x, y);
    ASSERT_EQ(may, share) << of_a.tokens << 'x' << of_a.heads << 'x' << of_a.head_dim << " strides "
                          << a.token << ' ' << a.head << " and " << of_b.tokens << 'x' << of_b.heads
                          << 'x' << of_b.head_dim << " strides " << b.token << ' ' << b.head
                          << " at " << offset;
    ASSERT_EQ(may, may_overlap(y, x));
    shared += share;
    known_apart += !may && overlap(x.memory(), y.memory());
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(known_apart, 1000) << "views entangled and apart must occur";
}

TEST(may_overlap, says_exactly_whether_views_share_bytes) {
  expect_exact<float, float>(1);
  expect_exact<float, posenc::half>(2);
  expect_exact<posenc::half, posenc::half>(3);
}

// Layouts of engines: [tokens][q heads, k heads, v heads], [tokens][heads][q, k, v], and
// interleaved tokens.
TEST(may_overlap, sees_apart_what_lies_side_by_side) {
  auto const apart = [](heads_view<float> const& a, heads_view<float> const& b) {
    return !may_overlap(a, b) && !may_overlap(b, a);
  };
  auto* const data = memory.data();
  EXPECT_TRUE(apart({data, {5, 4, 8}, {56, 8}}, {data + 32, {5, 2, 8}, {56, 8}}));
  EXPECT_TRUE(apart({data, {5, 4, 8}, {56, 8}}, {data + 48, {5, 1, 8}, {56, 8}}));
  EXPECT_TRUE(apart({data + 2 * 56, {5, 4, 8}, {56, 8}}, {data + 32, {5, 2, 8}, {56, 8}}))
      << "others' tokens too";
  EXPECT_FALSE(apart({data, {5, 4, 8}, {56, 8}}, {data + 31, {5, 2, 8}, {56, 8}}));
  EXPECT_FALSE(apart({data, {5, 4, 8}, {56, 8}}, {data + 48, {5, 2, 8}, {56, 8}}))
      << "into the next token";
  EXPECT_TRUE(apart({data, {5, 4, 8}, {96, 24}}, {data + 8, {5, 4, 8}, {96, 24}}));
  EXPECT_TRUE(apart({data, {5, 4, 8}, {96, 24}}, {data + 8, {5, 4, 16}, {96, 24}}));
  EXPECT_FALSE(apart({data, {5, 4, 8}, {96, 24}}, {data + 8, {5, 4, 17}, {96, 24}}));
  EXPECT_TRUE(apart({data, {5, 1, 8}, {16, 8}}, {data + 8, {5, 1, 8}, {16, 8}}))
      << "every other token";
}

// More to try than is tried: the one period of both tells them apart, and whatever is not so counts
// as overlapping.
TEST(may_overlap, decides_what_is_entangled_by_a_period) {
  static std::array<float, 200'000> numbers;
  auto const may = [](std::size_t tokens, std::size_t heads, heads_strides a, heads_strides b,
                      std::ptrdiff_t offset) {
    return may_overlap(heads_view<float const>(numbers.data(), {tokens, heads, 2}, a),
                       heads_view<float const>(numbers.data() + offset, {tokens, heads, 2}, b));
  };
  // Every 4th and every 6th pair: 2 is their period.
  EXPECT_FALSE(may(10'000, 1, {8, 0}, {12, 0}, 2));
  EXPECT_TRUE(may(10'000, 1, {8, 0}, {12, 0}, 4));
  EXPECT_TRUE(may(10'000, 1, {8, 0}, {12, 0}, 3));
  // Two heads of every 16 numbers, and others of every 8.
  EXPECT_FALSE(may(10'000, 2, {16, 2}, {8, 2}, 4));
  EXPECT_TRUE(may(10'000, 2, {16, 2}, {8, 2}, 5));
  EXPECT_TRUE(may(10'000, 2, {16, 2}, {8, 2}, 6)) << "into the next 8";
}

using slots = std::vector<std::int64_t>;

// Every byte of every slot, of pages whose strides are drawn so that they often interleave.
TEST(may_overlap, says_exactly_whether_pages_share_bytes) {
  std::mt19937 random(1);
  auto const up_to = [&](std::size_t n) { return 1 + random() % n; };
  auto const signed_up_to = [&](int n) {
    return (random() % 4 == 0 ? -1 : 1) *
           static_cast<std::ptrdiff_t>(1 + random() % static_cast<unsigned>(n));
  };
  slots const none;
  int shared = 0, known_apart = 0;
  for (int i = 0; i < 100'000; ++i) {
    auto const dim = up_to(3), heads = up_to(3), tokens = up_to(3), pages = up_to(3);
    auto const head = signed_up_to(6),
               token = random() % 2 == 0 ? head * signed_up_to(6) : signed_up_to(20);
    auto const page = static_cast<std::ptrdiff_t>(up_to(60));
    auto const offset = signed_up_to(70);
    auto const of = [&](float* data, std::size_t h, std::size_t d, std::size_t p) {
      return heads_view<float const, in_pages>(data, {p, tokens, h, d}, {page, token, head}, none);
    };
    auto const marks = [&](std::ptrdiff_t first, std::size_t h, std::size_t d, std::size_t p) {
      std::bitset<2048> mark;
      for (std::size_t k = 0; k < p * tokens * h * d; ++k) {
        auto const at = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
        auto const place = first + at(k % d) + at(k / d % h) * head +
                           at(k / d / h % tokens) * token + at(k / d / h / tokens) * page;
        mark[static_cast<std::size_t>(1024 + place)] = true;
      }
      return mark;
    };
    auto const other_heads = up_to(3), other_dim = up_to(3), other_pages = up_to(3);
    try {
      auto const x = of(middle, heads, dim, pages),
                 y = of(middle + offset, other_heads, other_dim, other_pages);
      auto const a = marks(0, heads, dim, pages),
                 b = marks(offset, other_heads, other_dim, other_pages);
      bool const share = (a & b).any(), may = may_overlap(x, y);
      ASSERT_EQ(may, share) << "strides " << page << ' ' << token << ' ' << head << " at "
                            << offset;
      ASSERT_EQ(may, may_overlap(y, x));
      shared += share, known_apart += !may && overlap(x.memory(), y.memory());
    } catch (std::invalid_argument const&) {  // pages that overlap
    }
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(known_apart, 1000);
}

// Keys beside values, or codes beside scales, at any place among pages, tokens and heads, of equal
// or other sizes, with padding behind each of them: every byte of both is marked.
TEST(may_overlap, is_exact_side_by_side_in_padded_pages_tokens_and_heads) {
  std::mt19937 random(5);
  auto const up_to = [&](std::size_t n) { return 1 + random() % n; };
  slots const some{0};
  int shared = 0, apart = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::array<std::size_t, 3> const counts{up_to(4), up_to(4), up_to(3)};  // pages, tokens, heads
    std::size_t const sizes[] = {up_to(6), up_to(6)};
    std::array<std::size_t, 4> order{0, 1, 2, 3};  // from the innermost on; 3: the two side by side
    std::shuffle(order.begin(), order.end(), random);
    // The strides of both; where they lie side by side, what is within each is its own.
    std::array<std::array<std::size_t, 3>, 2> strides{};
    std::size_t length[] = {sizes[0], sizes[1]}, between = 0;
    bool within = true, padded = random() % 4 != 0;
    for (auto const level : order) {
      auto const pad = padded && random() % 2 == 0 ? random() % 5 : 0;
      if (level == 3) {
        between = length[0] + pad, length[0] = length[1] = between + length[1], within = false;
      } else {
        std::size_t const longest[] = {length[0], within ? length[1] : length[0]};
        for (std::size_t of = 0; of < 2; ++of) {
          strides[of][level] = longest[of] + pad;
          length[of] = longest[of] + (counts[level] - 1) * strides[of][level];
        }
      }
    }
    ASSERT_LT(length[0] + 20, memory.size()) << "the layout must fit";
    auto const moved = random() % 3 != 0 ? 0 : static_cast<std::ptrdiff_t>(random() % 9) - 4;
    auto const of = [&](std::size_t which, std::ptrdiff_t first) {
      auto const s = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(strides[which][n]); };
      return heads_view<float const, in_pages>(memory.data() + 10 + first,
                                               {counts[0], counts[1], counts[2], sizes[which]},
                                               {s(0), s(1), s(2)}, some);
    };
    auto const offset = static_cast<std::ptrdiff_t>(between) + moved;
    auto const x = of(0, 0), y = of(1, offset);
    std::vector<int> marks(memory.size() + 20);
    bool share = false;
    for (std::size_t which = 0; which < 2; ++which)
      for (std::size_t p = 0; p < counts[0]; ++p)
        for (std::size_t t = 0; t < counts[1]; ++t)
          for (std::size_t h = 0; h < counts[2]; ++h)
            for (std::size_t d = 0; d < sizes[which]; ++d) {
              auto& mark = marks[static_cast<std::size_t>(
                  static_cast<std::ptrdiff_t>(10 + p * strides[which][0] + t * strides[which][1] +
                                              h * strides[which][2] + d) +
                  (which == 0 ? 0 : offset))];
              share = share || (which == 1 && mark == 1);
              mark = static_cast<int>(which) + 1;
            }
    ASSERT_EQ(may_overlap(x, y), share)
        << sizes[0] << " and " << sizes[1] << " numbers, strides of pages " << strides[0][0]
        << " and " << strides[1][0] << ", of tokens " << strides[0][1] << " and " << strides[1][1]
        << ", of heads " << strides[0][2] << " and " << strides[1][2] << ", counts " << counts[0]
        << ' ' << counts[1] << ' ' << counts[2] << ", " << offset << " apart";
    ASSERT_EQ(may_overlap(y, x), share) << i;
    ASSERT_TRUE(moved != 0 || !share) << "side by side as drawn";
    shared += share, apart += !share;
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(apart, 1000);
}

// vLLM's page of 1,039,680 bytes for all layers, a multiple of no token's: 16-bit keys and values.
TEST(may_overlap, sees_apart_keys_and_values_of_padded_pages) {
  constexpr std::ptrdiff_t page = 1'039'680 / 2, n = 16, d = 128;
  std::vector<posenc::half> pool(static_cast<std::size_t>(page * 6));
  slots const some{7, 90, 2};
  auto const of = [&](std::ptrdiff_t first, pages_strides strides, std::size_t dim) {
    return heads_view<posenc::half, in_pages>(pool.data() + first, {6, 16, 8, dim}, strides, some);
  };
  EXPECT_FALSE(may_overlap(of(0, {page, 16 * d, d}, 128), of(8 * d, {page, 16 * d, d}, 128)))
      << "[page][token][k, v][head]";
  EXPECT_TRUE(may_overlap(of(0, {page, 16 * d, d}, 128), of(8 * d - 1, {page, 16 * d, d}, 128)));
  EXPECT_FALSE(may_overlap(of(0, {page, 16 * d, 2 * d}, 128), of(d, {page, 16 * d, 2 * d}, 128)))
      << "[page][token][head][k, v]";
  EXPECT_TRUE(
      may_overlap(of(0, {page, 16 * d, 2 * d}, 128), of(d + 1, {page, 16 * d, 2 * d}, 128)));
  EXPECT_FALSE(
      may_overlap(of(0, {page, 2 * d, 2 * n * d}, 128), of(d, {page, 2 * d, 2 * n * d}, 128)))
      << "[page][head][token][k, v]";
  EXPECT_FALSE(may_overlap(of(0, {page, 8 * 200, 200}, 128), of(128, {page, 8 * 200, 200}, 72)))
      << "[page][token][head][k, v], of 128 and of 72 dims";
  EXPECT_TRUE(may_overlap(of(0, {page, 8 * 200, 200}, 128), of(128, {page, 8 * 200, 200}, 73)));
  EXPECT_FALSE(may_overlap(of(0, {page, 1664, 128}, 128), of(1024, {page, 1664, 80}, 72)))
      << "[page][token][k, v][head], of 128 and of 72 dims, padded to 80";
  EXPECT_TRUE(may_overlap(of(0, {page, 1664, 128}, 128), of(1104, {page, 1664, 80}, 72)));
}

// Keys and values as engines have them: in each page, in each token, in each head; heads of a
// cache.
TEST(may_overlap, sees_apart_what_lies_side_by_side_in_pages) {
  slots const some{7, 0, 2};
  auto const of = [&](std::ptrdiff_t first, pages_strides strides) {
    return heads_view<float, in_pages>(memory.data() + first, {3, 4, 2, 8}, strides, some);
  };
  pages_strides const in_page{128, 16, 8}, in_token{128, 32, 8}, in_head{128, 32, 16},
      of_heads{128, 8, 32};
  EXPECT_FALSE(may_overlap(of(0, in_page), of(64, in_page)));
  EXPECT_TRUE(may_overlap(of(0, in_page), of(63, in_page)));
  EXPECT_TRUE(may_overlap(of(0, in_page), of(65, in_page))) << "into the next page";
  EXPECT_FALSE(may_overlap(of(0, in_token), of(16, in_token)));
  EXPECT_TRUE(may_overlap(of(0, in_token), of(15, in_token)));
  EXPECT_FALSE(may_overlap(of(0, in_head), of(8, in_head)));
  EXPECT_TRUE(may_overlap(of(0, in_head), of(9, in_head)));
  EXPECT_FALSE(may_overlap(of(0, of_heads), of(64, of_heads))) << "pages of [heads][tokens]";
  auto const cache = of(0, {64, 16, 8});
  EXPECT_FALSE(may_overlap(cache.slice_heads(0, 1), cache.slice_heads(1, 1)));
  EXPECT_TRUE(may_overlap(cache.slice_heads(0, 1), cache));
  EXPECT_FALSE(may_overlap(cache.slice_tokens(0, 1), cache.slice_tokens(1, 1))) << "other slots";
  EXPECT_TRUE(may_overlap(cache.slice_tokens(0, 2), cache.slice_tokens(1, 2)));
}

// A page that no slot has may be where no memory is: addresses below 0 wrap around.
TEST(may_overlap, sees_heads_before_pages_that_wrap_around) {
  slots const some{1};
  constexpr std::ptrdiff_t far = -1'300'000'000'000'000'000;
  heads_view<float, in_pages> const x(memory.data(), {2, 2, 1, 8}, {far, 16, 8}, some),
      other(memory.data() + 64, {2, 2, 1, 8}, {128, 16, 8}, some);
  EXPECT_TRUE(may_overlap(x, x));
  EXPECT_TRUE(may_overlap(x, heads_view<float>(memory.data() + 16, {1, 1, 8})));
  EXPECT_FALSE(may_overlap(x, heads_view<float>(memory.data() + 40, {1, 1, 8}))) << "behind";
  EXPECT_FALSE(may_overlap(other, heads_view<float>(memory.data(), {1, 1, 8})));
}

// Heads of any number of bytes, at any byte: codes and scales.
TEST(share_a_byte, is_exact_to_the_byte) {
  std::mt19937 random(11);
  auto const up_to = [&](std::size_t n) { return 1 + random() % n; };
  int shared = 0;
  for (int i = 0; i < 100'000; ++i) {
    posenc::detail::strided_memory sets[2];
    std::array<bool, 600> marks[2]{};
    for (std::size_t of = 0; of < 2; ++of) {
      auto const first = random() % 60, size = up_to(5);
      sets[of].head = {first, first + size};
      for (auto& each : sets[of].of_head) each = {up_to(3), random() % 40};
      if (of == 1 && random() % 2 == 0) sets[1].of_head = sets[0].of_head;
      auto const& [a, b, c] = sets[of].of_head;
      for (std::size_t k = 0; k < a.count * b.count * c.count * size; ++k)
        marks[of][first + k % size + k / size % a.count * a.stride +
                  k / size / a.count % b.count * b.stride +
                  k / size / a.count / b.count * c.stride] = true;
    }
    bool share = false;
    for (std::size_t k = 0; k < marks[0].size(); ++k) share = share || (marks[0][k] && marks[1][k]);
    ASSERT_EQ(posenc::detail::share_a_byte(sets[0], sets[1]), share) << i;
    ASSERT_EQ(posenc::detail::share_a_byte(sets[1], sets[0]), share) << i;
    shared += share;
  }
  EXPECT_GT(shared, 1000);
  EXPECT_LT(shared, 99'000);
}

}  // namespace
}  // namespace of_memory_range
