#include "posenc/cache/q5_1.hpp"
#include "posenc/heads/heads_view.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cache/codes.hpp"
#include "numbers.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q4_0.hpp"
#include "rejects.hpp"

namespace of_heads_in_format { namespace {

using posenc::deepseek_v4;
using posenc::heads_view;
using posenc::in_pages;
using posenc::int8_per_head;
using posenc::pages_shape;
using posenc::q8_0;
using posenc::u8_per_head;

using slots = std::vector<std::int64_t>;
constexpr pages_shape three_pages{3, 4, 2, 64};

// A format of one's own: the sign of each number, one bit a dim.
struct signs {
  std::size_t bytes(std::size_t head_dim) const { return (head_dim + 7) / 8; }
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    std::fill_n(to, bytes(head.size()), std::byte{0});
    for (std::size_t i = 0; i < head.size(); ++i)
      if (head[i] < 0) to[i / 8] |= std::byte{1} << i % 8;
  }
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    for (std::size_t i = 0; i < head.size(); ++i)
      head[i] = (from[i / 8] >> i % 8 & std::byte{1}) == std::byte{0} ? 1.0f : -1.0f;
  }
};
static_assert(posenc::inline_format<signs> && !posenc::scaled_format<signs>);
static_assert(posenc::scaled_format<int8_per_head> && !posenc::inline_format<int8_per_head>);

// Exactly the bytes of dense pages, each 0xee.
template <class F>
std::vector<std::byte> memory_for(F const& format, pages_shape s) {
  auto bytes = format.bytes(s.head_dim);
  if constexpr (posenc::scaled_format<F>) bytes += format.scale_bytes(s.head_dim);
  return std::vector<std::byte>(s.pages * s.page_tokens * s.heads * bytes, std::byte{0xee});
}

template <class F>
void keeps_each_head_where_it_is(F const& format) {
  auto memory = memory_for(format, three_pages);
  slots const all{11, 0, 3, 4, -1, 7};
  heads_view const x(format, memory.data(), three_pages, all);
  EXPECT_EQ(x.tokens(), all.size());
  EXPECT_EQ(x.heads(), 2u);
  EXPECT_EQ(x.head_dim(), 64u);
  auto expected = memory;
  for (std::size_t t = 0; t < all.size(); ++t)
    for (std::size_t h = 0; h < 2; ++h) {
      auto const head = numbers::random<float>(64, 2 * t + h);
      x.write(t, h, head);
      EXPECT_EQ(x.has(t), all[t] >= 0);
      if (all[t] < 0) continue;
      auto const bytes = encode(format, head);
      auto const slot = static_cast<std::size_t>(all[t]);
      // The codes of a page's heads, then their scales.
      auto const size = bytes.codes.size(), rest = bytes.scales.size();
      auto const page = slot / 4 * 8 * (size + rest), within = slot % 4 * 2 + h;
      std::copy(bytes.codes.begin(), bytes.codes.end(),
                expected.begin() + static_cast<std::ptrdiff_t>(page + within * size));
      std::copy(bytes.scales.begin(), bytes.scales.end(),
                expected.begin() + static_cast<std::ptrdiff_t>(page + 8 * size + within * rest));
      std::vector<float> read(64);
      heads_view const to_read(format, static_cast<void const*>(memory.data()), three_pages, all);
      static_assert(std::is_same_v<decltype(to_read), heads_view<F const, in_pages> const>);
      to_read.read(t, h, read);
      EXPECT_EQ(read, through(format, head));
    }
  EXPECT_EQ(memory, expected);
}

TEST(heads_in_format, keeps_each_head_where_it_is) {
  keeps_each_head_where_it_is(u8_per_head{});
  keeps_each_head_where_it_is(q8_0{});
  keeps_each_head_where_it_is(posenc::q4_0{});
  keeps_each_head_where_it_is(posenc::q5_1{});
  keeps_each_head_where_it_is(posenc::int4_per_head{});
  keeps_each_head_where_it_is(posenc::int4_static{0.1f});
  keeps_each_head_where_it_is(int8_per_head{});
  keeps_each_head_where_it_is(posenc::int8_static{0.01f});
  keeps_each_head_where_it_is(posenc::e4m3{});
  keeps_each_head_where_it_is(posenc::numbers_of<posenc::bfloat16>{});
  keeps_each_head_where_it_is(signs{});
}

// 4 tokens of 576 bytes, then their scales.
TEST(heads_in_format, has_the_page_of_deepseek_v4) {
  pages_shape const shape{2, 4, 1, 512};
  auto memory = memory_for(deepseek_v4{}, shape);
  EXPECT_EQ(memory.size(), 2u * 4 * 584);
  slots const one{6};
  auto const head = numbers::random<float>(512);
  heads_view(deepseek_v4{}, memory.data(), shape, one).write(0, 0, head);
  auto const bytes = encode(deepseek_v4{}, head);
  auto expected = memory_for(deepseek_v4{}, shape);
  std::copy(bytes.codes.begin(), bytes.codes.end(), expected.begin() + 4 * 584 + 2 * 576);
  std::copy(bytes.scales.begin(), bytes.scales.end(), expected.begin() + 4 * 584 + 4 * 576 + 2 * 8);
  EXPECT_EQ(memory, expected);
}

TEST(heads_in_format, takes_any_strides_and_scales_anywhere) {
  std::vector<std::byte> codes(3000), scales(400);
  slots const some{9, 2};
  // Pages of [heads][tokens], with gaps; scales backwards.
  heads_view const x(int8_per_head{}, codes.data(), three_pages, {700, 65, 300},
                     scales.data() + 300, {33, -8, 4}, some);
  auto const head = numbers::random<float>(64);
  x.write(0, 1, head);
  auto const bytes = encode(int8_per_head{}, head);
  EXPECT_TRUE(
      std::equal(bytes.codes.begin(), bytes.codes.end(), codes.begin() + 2 * 700 + 65 + 300));
  EXPECT_TRUE(
      std::equal(bytes.scales.begin(), bytes.scales.end(), scales.begin() + 300 + 2 * 33 - 8 + 4));
  // In the same pages, behind 512 bytes of codes: 32 bytes.
  auto const in_pages = [&](std::ptrdiff_t first, std::ptrdiff_t page) {
    heads_view(int8_per_head{}, codes.data(), three_pages, {page, 128, 64}, codes.data() + first,
               {page, 8, 4}, some);
  };
  EXPECT_NO_THROW(in_pages(512, 544));
  auto const overlap = "posenc: heads_view: scales must not overlap codes";
  EXPECT_EQ(message_of([&] { in_pages(511, 544); }), overlap);
  EXPECT_EQ(message_of([&] { in_pages(512, 543); }), overlap) << "into the next page";
  auto const& const_codes = codes;
  static_assert(std::is_same_v<decltype(heads_view(q8_0{}, const_codes.data(), three_pages, some)),
                               heads_view<q8_0 const, posenc::in_pages>>);
}

// A format at strides has the bytes of the format in one page, whose slots are in order; in place,
// too, in another order of tokens and heads.
template <class F>
void is_at_strides_as_in_a_page(F const& format) {
  pages_shape const page{1, 5, 2, 64};
  auto memory = memory_for(format, page), strided = memory;
  slots const all{0, 1, 2, 3, 4};
  heads_view const x(format, memory.data(), page, all);
  heads_view const y(format, strided.data(), posenc::heads_shape{5, 2, 64});
  static_assert(std::is_same_v<decltype(y), heads_view<F> const>);
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t h = 0; h < 2; ++h) {
      auto const head = numbers::random<float>(64, 2 * t + h);
      x.write(t, h, head), y.write(t, h, head);
      std::vector<float> read(64);
      y.read(t, h, read);
      EXPECT_EQ(read, through(format, head));
    }
  EXPECT_EQ(memory, strided);
  EXPECT_TRUE(posenc::detail::may_overlap(y, y));
  EXPECT_FALSE(posenc::detail::may_overlap(y, x));
}

TEST(heads_in_format, are_at_strides_as_in_a_page) {
  is_at_strides_as_in_a_page(u8_per_head{});
  is_at_strides_as_in_a_page(q8_0{});
  is_at_strides_as_in_a_page(posenc::q4_0{});
  is_at_strides_as_in_a_page(posenc::q5_1{});
  is_at_strides_as_in_a_page(posenc::int4_per_head{});
  is_at_strides_as_in_a_page(int8_per_head{});
  is_at_strides_as_in_a_page(posenc::numbers_of<posenc::bfloat16>{});
  is_at_strides_as_in_a_page(signs{});
  // Heads before tokens, with gaps; scales backwards.
  std::vector<std::byte> codes(700), scales(60);
  heads_view const x(int8_per_head{}, codes.data(), {5, 2, 64}, {.token = 65, .head = 330},
                     scales.data() + 50, {.token = -8, .head = -4});
  std::vector<float> floats(16);  // scales of another pointer, strides by name
  heads_view(int8_per_head{}, codes.data(), posenc::heads_shape{5, 2, 64},
             posenc::heads_strides{65, 330}, floats.data(), posenc::heads_strides{8, 4})
      .write(0, 0, std::vector<float>(64, 127));
  EXPECT_EQ(floats[0], 1);
  auto const head = numbers::random<float>(64);
  x.write(3, 1, head);
  auto const bytes = encode(int8_per_head{}, head);
  EXPECT_TRUE(std::equal(bytes.codes.begin(), bytes.codes.end(), codes.begin() + 3 * 65 + 330));
  EXPECT_TRUE(std::equal(bytes.scales.begin(), bytes.scales.end(), scales.begin() + 50 - 24 - 4));
  EXPECT_EQ(message_of([&] {
              heads_view(q8_0{}, codes.data(), {5, 2, 64}, {.token = 67, .head = 340});
            }),
            "posenc: heads_view: heads that are written to must not overlap, got heads of 68 "
            "bytes with 5 tokens of stride 67 and 2 heads of stride 340");
}

TEST(heads_in_format, refuses_a_head_whose_bytes_wrap) {
  std::vector<std::byte> memory(64);
  slots const one{0};
  for (auto const dim : {(std::size_t{1} << (std::numeric_limits<std::size_t>::digits - 2)) + 1,
                         std::size_t{0} - 4}) {
    auto const message =
        "posenc: heads_view: a head must fit into memory, got head_dim " + std::to_string(dim);
    EXPECT_EQ(message_of([&] {
                heads_view(u8_per_head{}, memory.data(), {1, 1, 1, dim}, one);
              }),
              message);
    EXPECT_EQ(message_of([&] {
                heads_view(posenc::numbers_of<float>{}, memory.data(), {1, 1, 1, dim}, one);
              }),
              message);
  }
}

TEST(heads_in_format, slices_heads) {
  auto memory = memory_for(int8_per_head{}, three_pages), sliced = memory;
  slots const all{11, 0, 3, 4};
  heads_view const whole(int8_per_head{}, memory.data(), three_pages, all),
      parts(int8_per_head{}, sliced.data(), three_pages, all);
  auto const head = numbers::random<float>(64);
  whole.write(2, 1, head);
  auto const slice = parts.slice_heads(1, 1);
  EXPECT_EQ(slice.tokens(), 4u);
  EXPECT_EQ(slice.heads(), 1u);
  slice.write(2, 0, head);
  EXPECT_EQ(memory, sliced);
  EXPECT_EQ(message_of([&] { parts.slice_heads(1, 2); }),
            "posenc: heads_view: a slice of heads must lie within [0, 2), got first 1, count 2");
}

TEST(heads_in_format, refuses_what_numbers_refuse_and_head_dims_that_a_format_has_not) {
  auto memory = memory_for(q8_0{}, three_pages);
  auto const make = [&](pages_shape shape, slots const& some) {
    return message_of([&] { heads_view(q8_0{}, memory.data(), shape, some); });
  };
  EXPECT_EQ(
      make(three_pages, {0, 12}),
      "posenc: heads_view: a slot must be below 12 (3 pages of 4 tokens), got 12 for token 1");
  EXPECT_EQ(make(three_pages, {std::numeric_limits<std::int64_t>::max()}),
            "posenc: heads_view: a slot must be below 12 (3 pages of 4 tokens), got "
            "9223372036854775807 for token 0");
  EXPECT_EQ(make({3, 4, 2, 65}, {0}), "posenc: q8_0: head_dim must be a multiple of 32, got 65");
  EXPECT_EQ(make({3, 4, 2, 0}, {0}), "posenc: heads_view: head_dim must be positive, got 0");
  slots const first{0}, nothing{-1};
  EXPECT_EQ(message_of([&] {
              heads_view(q8_0{}, memory.data(), three_pages, {500, 136, 68}, first);
            }),
            "posenc: heads_view: pages must not overlap, got pages of 544 bytes with stride 500");
  void* const nowhere = nullptr;
  EXPECT_EQ(message_of([&] { heads_view(int8_per_head{}, nowhere, three_pages, first); }),
            "posenc: heads_view: data must not be null for 4 tokens x 2 heads");
  EXPECT_NO_THROW(heads_view(q8_0{}, nowhere, {0, 4, 2, 64}, nothing));
}

TEST(heads_in_format, tells_slots_that_are_written_twice) {
  auto memory = memory_for(u8_per_head{}, three_pages);
  auto const again = [&](slots const& some) {
    return message_of([&] {
      posenc::detail::require_each_slot_once(
          heads_view(u8_per_head{}, memory.data(), three_pages, some).slots(), "rotate");
    });
  };
  auto const slot = [](int of, int token) {
    return "posenc: rotate: a slot must be written once, got slot " + std::to_string(of) +
           " again for token " + std::to_string(token);
  };
  EXPECT_EQ(again({5, 5}), slot(5, 1));
  EXPECT_EQ(again({5, -1, 5}), slot(5, 2));
  EXPECT_EQ(again({4, 5, 6, 7, 0, 1, 6}), slot(6, 6));
  EXPECT_EQ(again({8, 9, -1, 0, 1, 9, 3}), slot(9, 5));
  EXPECT_EQ(again({-1, 0, 1, 0}), slot(0, 3));
  EXPECT_EQ(again({-2, -1, 0, 3, 0}), slot(0, 4));
  for (slots const& some : {slots{}, slots{-1, -1}, slots{11, 10, 9, -1, -1, 8},
                            slots{4, 5, 0, 1, 6}, slots{-1, 0, -1, 1}, slots{3, -1, 2, -1, 1}})
    EXPECT_NO_THROW(posenc::detail::require_each_slot_once(
        heads_view(u8_per_head{}, memory.data(), three_pages, some).slots()));
  // All orders of slots 0, 0, 1, 2 and -1 are told, none of 0, 1, 2, 3, -1 is.
  slots order{-1, 0, 0, 1, 2}, once{-1, 0, 1, 2, 3};
  do {
    EXPECT_NE(again(order), "");
  } while (std::next_permutation(order.begin(), order.end()));
  do {
    EXPECT_NO_THROW(posenc::detail::require_each_slot_once(
        heads_view(u8_per_head{}, memory.data(), three_pages, once).slots()));
  } while (std::next_permutation(once.begin(), once.end()));
}

}  // namespace
}  // namespace of_heads_in_format
