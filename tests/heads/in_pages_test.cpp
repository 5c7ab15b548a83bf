#include "posenc/heads/heads_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace of_in_pages {
namespace {

using posenc::arithmetic_t;
using posenc::cos_sin_rows;
using posenc::geometric;
using posenc::halves;
using posenc::heads_view;
using posenc::in_pages;
using posenc::interleaved;
using posenc::pages_shape;
using posenc::pages_strides;
using posenc::rotate;
using posenc::rotated;

using slots = std::vector<std::int64_t>;

constexpr auto far = std::numeric_limits<std::ptrdiff_t>::max();
constexpr auto root = std::size_t{1} << std::numeric_limits<std::size_t>::digits /
                                            2;  // its square is one more than a size holds
constexpr pages_shape five_pages{5, 4, 3, 8};

// Pages of [tokens][heads][head_dim] and of [heads][tokens][head_dim], contiguous or with gaps; and
// backwards within a page, where elements of a page are before its first head.
constexpr pages_strides ways[] = {{96, 24, 8},   {96, 8, 32},  {200, 24, 8}, {97, 8, 32},
                                  {150, 36, 12}, {120, 9, 37}, {96, -24, 8}, {96, 24, -8}};

constexpr std::size_t before = 100;  // numbers before the first head

// The offset of the head from the first one.
std::ptrdiff_t offset(pages_strides s, std::int64_t slot, std::size_t head) {
  auto const at = static_cast<std::ptrdiff_t>(slot);
  return at / 4 * s.page + at % 4 * s.token + static_cast<std::ptrdiff_t>(head) * s.head;
}

TEST(in_pages, finds_each_slot_in_its_page) {
  std::vector<float> memory(1200);
  slots const all{19, 0, 3, 4, 7, 8, 16, 5, 5};
  for (auto const strides : ways) {
    heads_view<float, in_pages> const x(memory.data() + before, five_pages, strides, all);
    EXPECT_EQ(x.tokens(), all.size());
    EXPECT_EQ(x.heads(), 3u);
    EXPECT_EQ(x.head_dim(), 8u);
    EXPECT_EQ(x.head_stride(), strides.head);
    for (std::size_t t = 0; t < all.size(); ++t)
      EXPECT_EQ(x.token(t) - memory.data(),
                static_cast<std::ptrdiff_t>(before) + offset(strides, all[t], 0));
  }
}

TEST(in_pages, has_pages_of_any_number_of_tokens) {
  std::vector<float> const memory(16 * 12 * 2);
  slots const all{0, 1, 6, 13, 24, 29};
  for (std::size_t const tokens : {1u, 2u, 3u, 6u, 8u, 12u}) {
    heads_view<float const, in_pages> const x(memory.data(), {32 / tokens + 1, tokens, 1, 2},
                                              {static_cast<std::ptrdiff_t>(3 * tokens), 2, 2}, all);
    for (std::size_t t = 0; t < all.size(); ++t) {
      auto const slot = static_cast<std::size_t>(all[t]), page = slot / tokens;
      EXPECT_EQ(x.token(t), memory.data() + page * 3 * tokens + slot % tokens * 2) << tokens;
    }
  }
}

TEST(in_pages, is_dense_where_no_strides_are_given) {
  std::vector<float> memory(480);
  slots const some{13};
  heads_view const x(memory.data(), five_pages, some);
  EXPECT_EQ(x.token(0), memory.data() + 13 * 24);
  EXPECT_EQ(x.head_stride(), 8);
}

TEST(in_pages, has_no_token_where_the_slot_is_negative) {
  std::vector<float> memory(480);
  slots const some{-1, 3, std::numeric_limits<std::int64_t>::min(), -480};
  heads_view const x(memory.data(), five_pages, some);
  EXPECT_EQ(x.token(0), nullptr);
  EXPECT_NE(x.token(1), nullptr);
  EXPECT_EQ(x.token(2), nullptr);
  EXPECT_EQ(x.token(3), nullptr);
}

TEST(in_pages, spans_all_of_its_pages) {
  std::vector<float> memory(1200);
  slots const some{9};
  for (auto const strides : ways) {
    auto const address = [&](std::ptrdiff_t i) {
      return reinterpret_cast<std::uintptr_t>(memory.data()) + static_cast<std::size_t>(i) * 4;
    };
    auto first = far, last = -far;
    for (std::int64_t slot = 0; slot < 20; ++slot)
      for (std::size_t head = 0; head < 3; ++head) {
        auto const at = static_cast<std::ptrdiff_t>(before) + offset(strides, slot, head);
        first = std::min(first, at), last = std::max(last, at + 8);
      }
    auto const range =
        heads_view<float, in_pages>(memory.data() + before, five_pages, strides, some).memory();
    EXPECT_EQ(range.first, address(first));
    EXPECT_EQ(range.last, address(last));
  }
}

TEST(in_pages, refuses_a_slot_beyond_the_last_page) {
  std::vector<float> memory(480);
  auto const expect = [&](pages_shape shape, slots const& some, std::string const& message) {
    EXPECT_EQ(message_of([&] { heads_view<float, in_pages>(memory.data(), shape, some); }),
              message);
  };
  expect(five_pages, {3, 20},
         "posenc: heads_view: a slot must be below 20 (5 pages of 4 tokens), got 20 for token 1");
  expect(five_pages, {std::numeric_limits<std::int64_t>::max()},
         "posenc: heads_view: a slot must be below 20 (5 pages of 4 tokens), got "
         "9223372036854775807 for token 0");
  expect({0, 4, 3, 8}, {-1, 0},
         "posenc: heads_view: there must be pages that have tokens, got 0 pages of 4 tokens for "
         "slot 0");
  expect({5, 0, 3, 8}, {0},
         "posenc: heads_view: there must be pages that have tokens, got 5 pages of 0 tokens for "
         "slot 0");
  expect({5, 4, 0, 8}, {-1, 20},
         "posenc: heads_view: a slot must be below 20 (5 pages of 4 tokens), got 20 for token 1");
}

TEST(in_pages, refuses_pages_that_overlap) {
  std::vector<float> memory(1200);
  slots const none;
  for (std::ptrdiff_t const stride : {95, 0, -95}) {
    auto const message =
        "posenc: heads_view: pages must not overlap, got pages of 96 elements with stride " +
        std::to_string(stride);
    EXPECT_EQ(message_of([&] {
                heads_view<float, in_pages>(memory.data(), five_pages, {stride, 24, 8}, none);
              }),
              message);
    EXPECT_NO_THROW(
        (heads_view<float const, in_pages>(memory.data() + 500, five_pages, {stride, 8, 32}, none)))
        << "read alone";
    EXPECT_NO_THROW(
        (heads_view<float, in_pages>(memory.data() + 500, {1, 4, 3, 8}, {stride, 24, 8}, none)))
        << "one page";
  }
  EXPECT_EQ(message_of([&] {
              heads_view<float, in_pages>(memory.data(), five_pages, {96, 8, 24}, none);
            }),
            "posenc: heads_view: heads that are written to must not overlap, got head_dim 8 with 4 "
            "tokens of stride 8 and 3 heads of stride 24");
}

// Pages between each other: tokens, or heads, of all pages follow one another.
TEST(in_pages, may_alternate) {
  static std::vector<float> memory(200);
  slots const none;
  auto const expect = [&](pages_shape shape, pages_strides strides, bool overlap) {
    bool refused = false;
    try {
      heads_view<float, in_pages>(memory.data(), shape, strides, none);
    } catch (std::invalid_argument const&) {
      refused = true;
    }
    EXPECT_EQ(refused, overlap);
    // Every number of every head.
    std::vector<int> marks(memory.size());
    bool twice = false;
    auto const at = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
    for (std::size_t i = 0; i < shape.pages * shape.page_tokens * shape.heads; ++i)
      for (std::size_t d = 0; d < shape.head_dim; ++d) {
        auto const page = i / shape.heads / shape.page_tokens,
                   token = i / shape.heads % shape.page_tokens;
        auto& mark =
            marks[static_cast<std::size_t>(at(page) * strides.page + at(token) * strides.token +
                                           at(i % shape.heads) * strides.head + at(d))];
        twice = twice || mark != 0, mark = 1;
      }
    EXPECT_EQ(twice, overlap);
  };
  expect({2, 3, 1, 8}, {8, 16, 0}, false);
  expect({2, 3, 1, 8}, {7, 16, 0}, true);
  expect({2, 3, 1, 8}, {8, 15, 0}, true);
  expect({2, 3, 2, 4}, {8, 16, 4}, false);
  expect({2, 3, 2, 4}, {8, 15, 4}, true);
  expect({2, 3, 2, 4}, {24, 8, 48}, false);
  expect({2, 3, 2, 4}, {24, 8, 43}, true);
  expect({2, 3, 1, 8}, {24, 8, 0}, false);
}

// Heads that are outside the pages: those of a slice span their own memory alone.
TEST(in_pages, slices_of_heads_span_their_own_memory) {
  std::vector<float> memory(2 * 3 * 4 * 8);
  slots const all{0, 5};
  heads_view<float, in_pages> const x(memory.data(), {3, 4, 2, 8}, {32, 8, 96}, all);
  auto const first = x.slice_heads(0, 1), second = x.slice_heads(1, 1);
  EXPECT_EQ(first.memory().last, second.memory().first);
  EXPECT_EQ(first.memory().first, x.memory().first);
  EXPECT_EQ(second.memory().last, x.memory().last);
  EXPECT_FALSE(posenc::detail::may_overlap(first, second));
}

// Without slots, as in C: tokens are in slots from 0 on, and in a slice from its first token on.
TEST(in_pages, without_slots_have_tokens_in_order) {
  std::vector<float> memory(480);
  heads_view<float, in_pages> const x(memory.data(), five_pages, {96, 24, 8},
                                      posenc::detail::slots_in_order{11});
  EXPECT_EQ(x.tokens(), 11u);
  EXPECT_TRUE(x.has_all() && x.has(0) && x.has(10));
  auto const part = x.slice_tokens(3, 6), later = part.slice_tokens(2, 4);
  for (std::size_t t = 0; t < 11; ++t) {
    auto* const at = memory.data() + t * 24;
    EXPECT_EQ(x.token(t), at);
    if (t >= 3 && t < 9) {
      EXPECT_EQ(part.token(t - 3), at);
    }
    if (t >= 5 && t < 9) {
      EXPECT_EQ(later.at(t - 5, 2), at + 16);
    }
  }
  EXPECT_EQ(message_of([&] {
              heads_view<float, in_pages>(memory.data(), five_pages, {96, 24, 8},
                                          posenc::detail::slots_in_order{21});
            }),
            "posenc: heads_view: pages must have room for all tokens where slots are not given, "
            "got 20 for 21");
  EXPECT_EQ((heads_view<float, in_pages>(memory.data(), five_pages, {96, 24, 8},
                                         posenc::detail::slots_in_order{20})
                 .tokens()),
            20u);
}

template <class T>
void expect_limit() {
  auto const limit = far / static_cast<std::ptrdiff_t>(sizeof(T));
  T element{};
  slots const none;
  EXPECT_NO_THROW((heads_view<T, in_pages>(&element, {2, 1, 1, 8}, {limit - 8, 8, 8}, none)));
  EXPECT_NO_THROW((heads_view<T, in_pages>(&element, {3, 1, 1, 8}, {(limit - 8) / 2, 8, 8}, none)));
  auto const refused = [&](std::size_t pages, std::ptrdiff_t stride) {
    EXPECT_EQ(message_of([&] {
                heads_view<T, in_pages>(&element, {pages, 1, 1, 8}, {stride, 8, 8}, none);
              }),
              "posenc: heads_view: the pages must fit into memory, got " + std::to_string(pages) +
                  " of stride " + std::to_string(stride));
  };
  refused(2, limit - 7), refused(2, far), refused(3, (limit - 8) / 2 + 1);
  refused(2, 7 - limit), refused(2, -far), refused(2, -far - 1), refused(3, (8 - limit) / 2 - 1);
  refused(std::numeric_limits<std::size_t>::max(), 8),
      refused(std::numeric_limits<std::size_t>::max() / 4 + 1, 16);
}

TEST(in_pages, fit_into_memory_up_to_the_last_byte_that_a_pointer_difference_counts) {
  expect_limit<double>();
  expect_limit<float>();
  expect_limit<posenc::half>();
}

TEST(in_pages, refuses_pages_that_no_dense_heads_could_be) {
  std::vector<float> memory(8);
  slots const none;
  auto const many = std::numeric_limits<std::size_t>::max();
  for (auto const& shape :
       {pages_shape{1, many, 1, 8}, {1, 1, many, 8}, {2, many, many, many}, {2, root, root, 8}})
    EXPECT_NE(message_of([&] { heads_view<float, in_pages>(memory.data(), shape, none); }), "");
  EXPECT_EQ(message_of([&] {
              heads_view<float, in_pages>(memory.data(), {2, 2, 1, 0}, none);
            }),
            "posenc: heads_view: head_dim must be positive, got 0");
  EXPECT_EQ(message_of([&] {
              heads_view<float, in_pages>(nullptr, {2, 2, 1, 8}, none);
            }),
            "posenc: heads_view: data must not be null for 2 tokens x 1 heads");
}

TEST(in_pages, of_nothing_needs_no_data) {
  slots const padding{-1, -1};
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{1, 2});
  for (auto const& shape : {pages_shape{0, 4, 3, 8}, {5, 0, 3, 8}, {5, 4, 0, 8}}) {
    heads_view<float, in_pages> const dense(nullptr, shape, padding),
        strided(nullptr, shape, {far, far, -far}, padding);
    EXPECT_EQ(dense.tokens(), 2u);
    EXPECT_EQ(dense.memory().first, dense.memory().last);
    rotate<halves>(dense, rows);
    rotate<halves, interleaved>(strided, strided, rows);
  }
  slots const real{3, 17};  // slots of no heads
  heads_view<float, in_pages> const no_heads(nullptr, {5, 4, 0, 8}, {96, 24, 8}, real);
  EXPECT_EQ(no_heads.token(1), nullptr);
  rotate<halves>(no_heads, rows);
}

// Pages in memory, with other numbers around them.
template <class T>
struct cache {
  std::vector<T> memory = numbers::random<T>(1200, 7);
  heads_view<T, in_pages> at(pages_strides strides, slots const& which) {
    return {memory.data() + before, five_pages, strides, which};
  }
};

// The kernel gives the same bits wherever the heads are: two of its cases.
void in_types_and_layouts(auto&& test) {
  test.template operator()<float, halves>();
  test.template operator()<posenc::bfloat16, interleaved>();
}

TEST(in_pages, take_what_rotate_scatters_slot_by_slot) {
  in_types_and_layouts([]<class T, class Layout>() {
    slots const which{19, -1, 0, 7, 8, -3, 7, 2};  // 7 twice: the later one stays
    auto const x = numbers::random<T>(which.size() * 3 * 8);
    heads_view const heads(x.data(), {which.size(), 3, 8});
    cos_sin_rows<arithmetic_t<T>> const rows(geometric(6, 1e4), slots{5, 6, 7, 8, 9, 10, 11, 12});
    std::vector<T> dense(x.size());
    rotate<Layout>(heads, heads_view(dense.data(), heads.shape()), rows,
                   posenc::rotary_block::last());
    for (auto const strides : ways) {
      cache<T> c;
      auto expected = c.memory;
      for (std::size_t t = 0; t < which.size(); ++t)
        for (std::size_t head = 0; which[t] >= 0 && head < 3; ++head)
          for (std::size_t dim = 0; dim < 8; ++dim)
            expected[before + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(dim) +
                                                       offset(strides, which[t], head) + 0)] =
                dense[(t * 3 + head) * 8 + dim];
      rotate<Layout>(heads, c.at(strides, which), rows, posenc::rotary_block::last());
      EXPECT_TRUE(numbers::same_bits(c.memory, expected));
    }
  });
}

TEST(in_pages, give_what_rotate_gathers_and_passes_over) {
  in_types_and_layouts([]<class T, class>() {
    slots const which{19, -1, 0, 7, 7};
    cos_sin_rows<arithmetic_t<T>> const rows(geometric(8, 1e4), slots{5, 6, 7, 8, 9});
    for (auto const strides : ways) {
      cache<T> c;
      auto const kept = c.memory;
      std::vector<T> target(5 * 3 * 8), expected = target;
      rotate<halves, interleaved>(c.at(strides, which), heads_view(target.data(), {5, 3, 8}), rows);
      for (std::size_t t = 0; t < 5; ++t) {
        if (which[t] < 0) continue;
        heads_view<T> const one(c.memory.data() + before + offset(strides, which[t], 0), {1, 3, 8},
                                {0, strides.head});
        rotate<halves, interleaved>(one, heads_view(expected.data() + t * 24, {1, 3, 8}),
                                    rows.slice_tokens(t, 1));
      }
      EXPECT_TRUE(numbers::same_bits(target, expected));
      EXPECT_TRUE(numbers::same_bits(c.memory, kept));
    }
  });
}

// Shifts of cached keys, one angle each; a slot that occurs twice is rotated twice.
TEST(in_pages, turn_in_place_slot_by_slot) {
  in_types_and_layouts([]<class T, class Layout>() {
    slots const which{4, -1, 11, 4, 0};
    cos_sin_rows<arithmetic_t<T>> const rows(geometric(6, 1e4), slots{-5, 3, -5, 2, 1});
    auto const weight = numbers::random<arithmetic_t<T>>(8);
    for (auto const strides : ways) {
      cache<T> c, one_by_one, normed, normed_one_by_one;
      rotate<Layout>(c.at(strides, which), rows);
      auto const pages = normed.at(strides, which);
      rotate(rows, rotated<Layout>(pages, pages).norm({weight, arithmetic_t<T>(1e-6)}));
      for (std::size_t t = 0; t < which.size(); ++t) {
        if (which[t] < 0) continue;
        auto const at = static_cast<std::ptrdiff_t>(before) + offset(strides, which[t], 0);
        rotate<Layout>(heads_view<T>(one_by_one.memory.data() + at, {1, 3, 8}, {0, strides.head}),
                       rows.slice_tokens(t, 1));
        rotate(rows.slice_tokens(t, 1),
               rotated<Layout>(heads_view<T>(normed_one_by_one.memory.data() + at, {1, 3, 8},
                                             {0, strides.head}))
                   .norm({weight, arithmetic_t<T>(1e-6)}));
      }
      EXPECT_TRUE(numbers::same_bits(c.memory, one_by_one.memory));
      EXPECT_TRUE(numbers::same_bits(normed.memory, normed_one_by_one.memory));
    }
  });
}

TEST(in_pages, take_queries_in_place_and_keys_to_the_cache_in_one_call) {
  auto q = numbers::random<float>(2 * 3 * 8), k = numbers::random<float>(2 * 3 * 8, 2), q_alone = q;
  slots const which{17, 2};
  cache<posenc::bfloat16> c, c_alone;
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{17, 2});
  rotate(rows, rotated<halves>(numbers::view(q, 2, 8)).scale(0.5f),
         rotated<halves, interleaved>(numbers::view(k, 2, 8), c.at(ways[1], which)));
  rotate(rows, rotated<halves>(numbers::view(q_alone, 2, 8)).scale(0.5f));
  rotate<halves, interleaved>(numbers::view(k, 2, 8), c_alone.at(ways[1], which), rows);
  EXPECT_TRUE(numbers::same_bits(q, q_alone));
  EXPECT_TRUE(numbers::same_bits(c.memory, c_alone.memory));
}

// Padding tokens, as in the batches of engines: nothing to do, whatever else is asked for.
TEST(in_pages, of_padding_alone_are_left_as_they_are) {
  cache<float> c, other;
  auto const kept = c.memory;
  slots const padding{-1, -1};
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{1, 2});
  auto const pages = c.at(ways[0], padding);
  EXPECT_NO_THROW(rotate<halves>(pages, rows));
  EXPECT_NO_THROW((rotate<halves, interleaved>(pages, other.at(ways[0], padding), rows)));
  EXPECT_NO_THROW((rotate<interleaved, halves>(other.at(ways[3], padding), pages, rows)));
  EXPECT_NO_THROW(rotate(rows, rotated<halves>(pages).norm({{}, 1}).scale(0)));
  EXPECT_TRUE(numbers::same_bits(c.memory, kept));
}

TEST(in_pages, go_to_other_slots_of_their_pages) {
  cache<float> c, other;
  auto const kept = c.memory;
  slots const from{1, -1, 2}, to{3, 4, 19};
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{1, 2, 3});
  for (auto const& way : ways) {
    c.memory = other.memory = kept;
    rotate<halves>(c.at(way, from), c.at(way, to), rows);
    auto const apart = kept;
    rotate<halves>(heads_view<float const, in_pages>(apart.data() + before, five_pages, way, from),
                   other.at(way, to), rows);
    EXPECT_TRUE(numbers::same_bits(c.memory, other.memory));
  }
}

TEST(in_pages, refuse_slots_that_are_written_to) {
  cache<float> c;
  auto const kept = c.memory;
  slots const from{1, 2}, to{3, 1};
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{1, 2});
  std::string const message =
      "posenc: rotate: source and target must not overlap, unless they are the same heads in the "
      "same layout";
  EXPECT_EQ(message_of([&] { rotate<halves>(c.at(ways[0], from), c.at(ways[0], to), rows); }),
            message);
  EXPECT_EQ(message_of([&] {
              rotate<halves, interleaved>(c.at(ways[0], from), c.at(ways[0], from), rows);
            }),
            message);
  EXPECT_EQ(message_of([&] {
              rotate<halves>(heads_view<float>(c.memory.data() + before, {2, 3, 8}),
                             c.at(ways[0], to), rows);
            }),
            message);
  EXPECT_EQ(
      message_of([&] {
        rotate(rows, rotated<halves>(c.at(ways[0], from)), rotated<halves>(c.at(ways[0], to)));
      }),
      "posenc: rotate: heads that one rotation of a call writes must not overlap those of another");
  EXPECT_EQ(message_of([&] {
              rotate<halves>(c.at(ways[0], from), cos_sin_rows(geometric(8, 1e4), std::vector{1}));
            }),
            "posenc: rotate: there must be one row per token, got 1 rows for 2 tokens");
  EXPECT_TRUE(numbers::same_bits(c.memory, kept));
}

// Queries and pages of words are rotated as half and bfloat16 are, bit for bit.
template <class Format>
void expect_words_are(std::vector<std::int64_t> const& into) {
  using posenc::as;
  auto const numbers = numbers::random<Format>(2 * 3 * 8);
  std::vector<std::uint16_t> words;
  for (auto const x : numbers) words.push_back(x.bits);
  cos_sin_rows const rows(geometric(8, 1e4), std::vector{1, 2});
  std::vector<Format> pages(20 * 3 * 8, Format{});
  std::vector<std::uint16_t> word_pages(20 * 3 * 8, 0);
  auto in_place = numbers;
  rotate<halves>(heads_view(in_place.data(), {2, 3, 8}), rows);
  rotate<halves>(heads_view(numbers.data(), {2, 3, 8}),
                 heads_view(pages.data(), {5, 4, 3, 8}, into), rows);
  rotate<halves>(heads_view<as<Format> const>(words.data(), {2, 3, 8}),
                 heads_view<as<Format>, in_pages>(word_pages.data(), {5, 4, 3, 8}, into), rows);
  rotate<halves>(heads_view<as<Format>>(words.data(), {2, 3, 8}), rows);
  for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], in_place[i].bits) << i;
  for (std::size_t i = 0; i < word_pages.size(); ++i) ASSERT_EQ(word_pages[i], pages[i].bits) << i;
  // [heads][tokens] in each page.
  heads_view<as<Format>, in_pages> const strided(word_pages.data(), {5, 4, 3, 8}, {96, 8, 32},
                                                 into);
  EXPECT_EQ(strided.head_stride(), 32);
}

TEST(in_pages, of_words_take_the_format_that_they_name) {
  expect_words_are<posenc::half>({17, 2});
  expect_words_are<posenc::bfloat16>({3, 0});
}

using lengths = std::vector<std::size_t>;

TEST(slots_of, sequences_are_those_of_their_pages_one_after_another) {
  std::vector<std::int32_t> const table{7, 2, 5, 0, 9, -1};
  EXPECT_EQ(posenc::slots_of(table, lengths{9, 5}, 4),
            (slots{28, 29, 30, 31, 8, 9, 10, 11, 20, 0, 1, 2, 3, 36}));
  EXPECT_EQ(posenc::slots_of(table, {9, 5}, 4, {7, 4}), (slots{11, 20, 36}));
  EXPECT_EQ(posenc::slots_of(table, {12, 8}, 4, {12, 8}), slots());
  EXPECT_EQ(posenc::slots_of(table, {0, 3, 1}, 3), (slots{15, 16, 17, 27}));
  EXPECT_EQ(posenc::slots_of(slots(), {}, 4), slots());
  EXPECT_EQ(posenc::slots_of(slots{std::int64_t{1} << 40}, {2}, 2),
            (slots{1ll << 41, (1ll << 41) + 1}));
}

TEST(slots_of, refuses_a_table_that_has_no_page_for_a_token) {
  std::vector<std::int32_t> const table{7, 2, 0, -1};
  auto const expect = [&](lengths const& of, std::size_t page_tokens, lengths const& cached,
                          std::string const& message) {
    EXPECT_EQ(message_of([&] { posenc::slots_of(table, of, page_tokens, cached); }),
              "posenc: slots_of: " + message);
  };
  expect({1}, 0, {}, "pages must have a token, got 0");
  expect({1, 2, 3}, 4, {}, "there must be as many pages for each of 3 sequences, got 4");
  expect({}, 4, {}, "there must be as many pages for each of 0 sequences, got 4");
  expect({1, 2}, 4, {0}, "cached must be of 2 sequences, got 1");
  expect({1, 2}, 4, {0, 1, 1}, "cached must be of 2 sequences, got 3");
  expect({1, 2}, 4, {0, 3}, "cached must be at most the length 2, got 3 for sequence 1");
  expect({9, 4}, 4, {}, "there must be a page for token 8 of sequence 0, got none");
  expect({9, 5}, 4, {0, 4}, "there must be a page for token 8 of sequence 0, got none");
}

// Block tables of engines whose windows have left pages behind, and stale tails.
// Slot 4 of a view whose pages overlap, as those of a view that is only read may, has the bytes of
// slot 1.
TEST(in_pages, slots_are_other_ones_of_as_many_pages_alone) {
  std::vector<float> numbers(32);
  std::vector<std::int64_t> const from{0, 4}, to{1, 2};
  heads_view<float const, in_pages> const read(numbers.data(), {2, 4, 1, 4}, {4, 4, 4}, from);
  heads_view<float, in_pages> const written(numbers.data(), {1, 4, 1, 4}, {4, 4, 4}, to);
  EXPECT_FALSE(read.has_other_slots(written));
  EXPECT_FALSE(written.has_other_slots(read));
  std::vector<std::int64_t> const elsewhere{0, 3};
  heads_view<float const, in_pages> const others(numbers.data(), {1, 4, 1, 4}, {4, 4, 4},
                                                 elsewhere);
  EXPECT_TRUE(others.has_other_slots(written));
}

TEST(slots_of, pages_that_are_negative_are_holes) {
  std::vector<std::int32_t> const table{7, -1, 2, -1, -9, 0};
  EXPECT_EQ(posenc::slots_of(table, {5, 6}, 2), (slots{14, 15, -1, -1, 4, -1, -1, -1, -1, 0, 1}));
  EXPECT_EQ(posenc::slots_of(table, {5, 6}, 2, {3, 4}), (slots{-1, 4, 0, 1}));
  EXPECT_EQ(posenc::slots_of(slots{std::numeric_limits<std::int64_t>::min()}, {2}, 2),
            (slots{-1, -1}));
}

// A token without a slot is not written, whatever else is.
TEST(slots_of, holes_are_left_out_where_heads_are_written) {
  cache<float> c;
  auto expected = c.memory;
  auto const x = numbers::random<float>(4 * 3 * 8);
  auto const which = posenc::slots_of(std::vector{-1, 2}, {6}, 4, {2});  // two in each page
  EXPECT_EQ(which, (slots{-1, -1, 8, 9}));
  cos_sin_rows const rows(geometric(8, 1e4), slots{0, 0, 0, 0});
  rotate<halves>(heads_view(x.data(), {4, 3, 8}), c.at(ways[0], which), rows);
  for (std::size_t i = 0; i < 48; ++i) expected[before + 2 * 96 + i] = x[48 + i];
  EXPECT_TRUE(numbers::same_bits(c.memory, expected));
}

TEST(slots_of, refuses_pages_whose_slots_no_int64_counts) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  auto const expect = [](auto page, std::size_t page_tokens, std::size_t length) {
    EXPECT_EQ(message_of([&] { posenc::slots_of(std::vector{page}, {length}, page_tokens); }),
              "posenc: slots_of: the slots of a page must fit int64, got page " +
                  std::to_string(page) + " of " + std::to_string(page_tokens) +
                  " tokens for token 0 of sequence 0");
  };
  expect(std::int64_t{1} << 62, 4, 1), expect((std::int64_t{1} << 62) + 1, 4, 1);
  expect(most, 4, 1), expect(most, 2, 1), expect(most / 4 + 1, 4, 4);
  expect(std::uint64_t{1} << 63, 1, 1), expect(std::numeric_limits<std::uint64_t>::max(), 16, 1);
  expect(std::int32_t{1}, std::numeric_limits<std::size_t>::max() / 2 + 1, 1);
  expect(std::int32_t{0}, std::numeric_limits<std::size_t>::max(), 1);
  EXPECT_EQ(posenc::slots_of(std::vector{most}, {1}, 1), slots{most});
  EXPECT_EQ(posenc::slots_of(std::vector{most / 4}, {4}, 4),
            (slots{most - 3, most - 2, most - 1, most}));
}

}  // namespace
}  // namespace of_in_pages
