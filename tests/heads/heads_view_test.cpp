#include "posenc/heads/heads_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include "posenc/heads/storage.hpp"
#include "rejects.hpp"

namespace {

using posenc::heads_shape;
using posenc::heads_strides;
using posenc::heads_view;

constexpr auto far = std::numeric_limits<std::ptrdiff_t>::max(),
               far_back = std::numeric_limits<std::ptrdiff_t>::min();
constexpr auto many = std::numeric_limits<std::size_t>::max();
constexpr auto root = std::size_t{1} << std::numeric_limits<std::size_t>::digits /
                                            2;  // its square is one more than many

// Strides of either sign fit if data points to the middle.
std::array<float, 4096> memory;
float* const middle = memory.data() + memory.size() / 2;

// Whether two heads share an element, by marking every element of every head.
bool overlap(heads_shape shape, heads_strides strides) {
  static std::array<std::uint32_t, memory.size()> owner;
  static std::uint32_t view = 0;
  ++view;
  for (std::size_t token = 0; token < shape.tokens; ++token) {
    for (std::size_t head = 0; head < shape.heads; ++head) {
      auto const offset = static_cast<std::ptrdiff_t>(token) * strides.token +
                          static_cast<std::ptrdiff_t>(head) * strides.head;
      for (std::size_t dim = 0; dim < shape.head_dim; ++dim) {
        auto& at = owner[static_cast<std::size_t>(
            static_cast<std::ptrdiff_t>(memory.size() / 2 + dim) + offset)];
        if (at == view) return true;
        at = view;
      }
    }
  }
  return false;
}

bool accepted(heads_shape shape, heads_strides strides) {
  try {
    heads_view<float>(middle, shape, strides);
    return true;
  } catch (std::invalid_argument const&) {
    return false;
  }
}

testing::AssertionResult refused_if_it_overlaps(heads_shape shape, heads_strides strides) {
  if (accepted(shape, strides) != overlap(shape, strides)) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << shape.tokens << " tokens of stride " << strides.token << ", " << shape.heads
         << " heads of stride " << strides.head << ", head_dim " << shape.head_dim << ": overlap "
         << overlap(shape, strides);
}

TEST(heads_view, that_is_written_to_is_refused_exactly_if_heads_overlap) {
  for (std::size_t tokens = 1; tokens <= 4; ++tokens)
    for (std::size_t heads = 1; heads <= 4; ++heads)
      for (std::size_t dim = 1; dim <= 4; ++dim)
        for (std::ptrdiff_t token = -13; token <= 13; ++token)
          for (std::ptrdiff_t head = -13; head <= 13; ++head)
            ASSERT_TRUE(refused_if_it_overlaps({tokens, heads, dim}, {token, head}));
}

TEST(heads_view, that_interleaves_tokens_and_heads_is_refused_exactly_if_they_overlap) {
  std::mt19937 random(1);
  auto const up_to = [&](std::size_t n) { return 1 + random() % n; };
  int apart = 0;
  for (int i = 0; i < 20'000; ++i) {
    heads_shape const shape{up_to(24), up_to(24), up_to(3)};
    heads_strides const strides{static_cast<std::ptrdiff_t>(up_to(40)),
                                static_cast<std::ptrdiff_t>(up_to(40))};
    ASSERT_TRUE(refused_if_it_overlaps(shape, strides));
    apart += !overlap(shape, strides);
  }
  EXPECT_GT(apart, 1000) << "both answers must occur";
}

TEST(heads_view, that_is_read_only_may_show_a_head_many_times) {
  heads_view<float const> const x(middle, {3, 5, 4}, {0, 0});
  EXPECT_EQ(x(2, 4).data(), middle);
  EXPECT_NO_THROW(heads_view<float const>(middle, {3, 5, 4}, {1, 2}));
}

TEST(heads_view, finds_each_head_by_its_strides) {
  for (auto const [token, head] :
       {heads_strides{24, 8}, {30, 9}, {8, 40}, {-24, 8}, {24, -8}, {-30, -10}}) {
    heads_view<float> const x(middle, {5, 3, 8}, {token, head});
    for (std::size_t t = 0; t < 5; ++t) {
      for (std::size_t h = 0; h < 3; ++h) {
        EXPECT_EQ(x(t, h).data() - middle,
                  static_cast<std::ptrdiff_t>(t) * token + static_cast<std::ptrdiff_t>(h) * head);
        EXPECT_EQ(x(t, h).size(), 8u);
      }
    }
  }
}

TEST(heads_view, shows_what_it_was_made_of) {
  heads_view const x(middle, heads_shape{5, 3, 8}, heads_strides{-30, 9});
  static_assert(std::same_as<decltype(x), heads_view<float> const> &&
                std::same_as<heads_view<float>::element_type, float>);
  EXPECT_EQ(x.data(), middle);
  EXPECT_EQ(x.shape(), (heads_shape{5, 3, 8}));
  EXPECT_EQ(x.strides().token, -30);
  EXPECT_EQ(x.strides().head, 9);
  EXPECT_EQ(x.tokens(), 5u);
  EXPECT_EQ(x.heads(), 3u);
  EXPECT_EQ(x.head_dim(), 8u);
}

TEST(heads_view, is_dense_where_no_strides_are_given) {
  heads_view const x(middle, heads_shape{5, 3, 8});
  EXPECT_EQ(x.strides().token, 24);
  EXPECT_EQ(x.strides().head, 8);
}

TEST(heads_view, converts_to_read_only_and_not_back) {
  using shown = heads_view<float>;
  using read_only = heads_view<float const>;
  static_assert(std::convertible_to<shown, read_only> && !std::convertible_to<read_only, shown>);
  static_assert(!std::convertible_to<shown, heads_view<double const>> &&
                !std::convertible_to<shown, heads_view<double>>);
  read_only const x = shown(middle, {5, 3, 8}, {30, 9});
  EXPECT_EQ(x(4, 2).data(), middle + 4 * 30 + 2 * 9);
  EXPECT_EQ(x.shape(), (heads_shape{5, 3, 8}));
}

// Each head of `slice` is the head of `x` that is first_token tokens, first_head heads and
// first_dim dims further on.
void expect_part(heads_view<float> slice, heads_view<float> x, std::size_t first_token,
                 std::size_t first_head, std::size_t first_dim) {
  for (std::size_t t = 0; t < slice.tokens(); ++t)
    for (std::size_t h = 0; h < slice.heads(); ++h) {
      ASSERT_EQ(slice(t, h).data(), x(first_token + t, first_head + h).data() + first_dim);
      ASSERT_EQ(slice(t, h).size(), slice.head_dim());
    }
}

TEST(heads_view, slices_show_the_same_heads) {
  for (auto const strides : {heads_strides{24, 8}, {30, -9}, {-8, 40}}) {
    heads_view<float> const x(middle, {5, 3, 8}, strides);
    for (std::size_t first = 0; first <= 8; ++first) {
      for (std::size_t count = 0; count <= 8 - first; ++count) {
        if (first + count <= 5) {
          EXPECT_EQ(x.slice_tokens(first, count).shape(), (heads_shape{count, 3, 8}));
          expect_part(x.slice_tokens(first, count), x, first, 0, 0);
        }
        if (first + count <= 3) {
          EXPECT_EQ(x.slice_heads(first, count).shape(), (heads_shape{5, count, 8}));
          expect_part(x.slice_heads(first, count), x, 0, first, 0);
        }
        if (count > 0) {
          EXPECT_EQ(x.slice_dims(first, count).shape(), (heads_shape{5, 3, count}));
          expect_part(x.slice_dims(first, count), x, 0, 0, first);
        }
      }
    }
    expect_part(x.slice_dims(2, 4).slice_heads(1, 2).slice_tokens(3, 2), x, 3, 1, 2);
  }
}

TEST(heads_view, refuses_slices_that_reach_beyond_it) {
  heads_view<float> const x(middle, {5, 3, 8});
  EXPECT_EQ(message_of([&] { x.slice_tokens(3, 3); }),
            "posenc: heads_view: a slice of tokens must lie within [0, 5), got first 3, count 3");
  EXPECT_EQ(message_of([&] { x.slice_tokens(6, 0); }),
            "posenc: heads_view: a slice of tokens must lie within [0, 5), got first 6, count 0");
  EXPECT_EQ(message_of([&] { x.slice_heads(0, 4); }),
            "posenc: heads_view: a slice of heads must lie within [0, 3), got first 0, count 4");
  EXPECT_EQ(message_of([&] { x.slice_dims(7, 2); }),
            "posenc: heads_view: a slice of dims must lie within [0, 8), got first 7, count 2");
  EXPECT_EQ(message_of([&] { x.slice_dims(2, 0); }),
            "posenc: heads_view: a slice of dims must not be empty");
  for (auto const& [first, count] : {std::pair{std::size_t{1}, many},
                                     {many, std::size_t{1}},
                                     {many, many}}) {  // the sum overflows
    EXPECT_NE(message_of([&, f = first, c = count] { x.slice_tokens(f, c); }), "");
    EXPECT_NE(message_of([&, f = first, c = count] { x.slice_heads(f, c); }), "");
    EXPECT_NE(message_of([&, f = first, c = count] { x.slice_dims(f, c); }), "");
  }
}

TEST(heads_view, of_no_tokens_or_heads_needs_no_data) {
  for (heads_shape const shape : {heads_shape{0, 4, 8}, {4, 0, 8}, {0, 0, 8}}) {
    heads_view<float> const x(nullptr, shape);
    EXPECT_EQ(x.shape(), shape);
    EXPECT_EQ(x.data(), nullptr);
    EXPECT_NO_THROW(heads_view<float>(nullptr, shape, {far_back, far}));
  }
}

TEST(heads_view, of_nothing_has_slices_of_nothing) {
  heads_view<float> const no_tokens(nullptr, {0, 4, 8}, {32, 8}),
      no_heads(nullptr, {4, 0, 8}, {32, 8});
  for (auto const& slice :
       {no_tokens.slice_heads(2, 2), no_heads.slice_tokens(2, 2), no_tokens.slice_dims(4, 4),
        no_heads.slice_dims(4, 4), no_tokens.slice_tokens(0, 0), no_heads.slice_heads(0, 0)}) {
    EXPECT_EQ(slice.data(), nullptr) << "an offset from no data at all";
    EXPECT_EQ(slice.tokens() * slice.heads(), 0u);
  }
}

TEST(heads_view, refuses_a_head_of_no_dims) {
  EXPECT_EQ(message_of([] {
              heads_view<float>(middle, {2, 3, 0});
            }),
            "posenc: heads_view: head_dim must be positive, got 0");
  EXPECT_EQ(message_of([] {
              heads_view<float>(nullptr, {0, 0, 0}, {0, 0});
            }),
            "posenc: heads_view: head_dim must be positive, got 0");
}

TEST(heads_view, refuses_numbers_without_data) {
  auto const message = "posenc: heads_view: data must not be null for 2 tokens x 3 heads";
  EXPECT_EQ(message_of([] { heads_view<float>(nullptr, {2, 3, 4}); }), message);
  EXPECT_EQ(message_of([] { heads_view<float const>(nullptr, {2, 3, 4}, {0, 0}); }), message);
}

TEST(heads_view, says_which_heads_overlap) {
  EXPECT_EQ(message_of([] {
              heads_view<float>(middle, {2, 3, 4}, {12, -3});
            }),
            "posenc: heads_view: heads that are written to must not overlap, got head_dim 4 with 2 "
            "tokens of stride 12 and 3 heads of stride -3");
}

TEST(heads_view, refuses_what_does_not_fit_into_memory) {
  EXPECT_EQ(message_of([] {
              heads_view<float>(middle, {3, 2, 4}, {far, -8});
            }),
            "posenc: heads_view: the view must fit into memory, got 3 tokens of stride " +
                std::to_string(far) + " and 2 heads of stride -8");
  for (auto const [tokens, heads, dim] : {heads_shape{1, 1, many},
                                          {many, 1, 8},
                                          {1, many, 8},
                                          {2 * root, 2 * root, 8},
                                          {2, root, root},
                                          {many, many, many}})
    EXPECT_NE(
        message_of([s = heads_shape{tokens, heads, dim}] { heads_view<float const>(middle, s); }),
        "");
  for (auto const [token, head] : {heads_strides{far, 8},
                                   {far_back, 8},
                                   {8, far},
                                   {8, far_back},
                                   {far / 8, far / 8},
                                   {far_back, far_back}})
    EXPECT_NE(message_of([s = heads_strides{token, head}] {
                heads_view<float const>(middle, {3, 3, 8}, s);
              }),
              "");
}

template <class T>
void expect_limit() {
  auto const limit = far / static_cast<std::ptrdiff_t>(sizeof(T));
  T element{};
  for (std::ptrdiff_t const sign : {1, -1}) {
    EXPECT_NO_THROW(heads_view<T>(&element, {2, 1, 8}, {sign * (limit - 8), 8}));
    EXPECT_NO_THROW(heads_view<T>(&element, {2, 3, 8}, {sign * (limit - 8 - 2 * 8), 8}));
    EXPECT_NE(message_of([&] { heads_view<T>(&element, {2, 1, 8}, {sign * (limit - 7), 8}); }), "");
    EXPECT_NE(message_of([&] {
                heads_view<T>(&element, {2, 3, 8}, {sign * (limit - 8 - 2 * 8 + 1), 8});
              }),
              "");
  }
}

TEST(heads_view, fits_into_memory_up_to_the_last_byte_that_a_pointer_difference_counts) {
  expect_limit<double>();
  expect_limit<float>();
  expect_limit<posenc::half>();
}

TEST(heads_view, of_no_heads_has_no_token) {
  EXPECT_EQ(heads_view<float>(nullptr, {4, 0, 8}, {far, far}).token(3), nullptr);
  EXPECT_EQ(heads_view<float>(middle, {4, 0, 8}, {far, far}).token(3), nullptr);
}

// One array of words, two formats.
TEST(heads_view, of_words_takes_the_format_that_it_names) {
  using posenc::as, posenc::bfloat16, posenc::half;
  std::array<std::uint16_t, 24> words{};
  words[8] = 0x3c00, words[17] = 0x3f80;
  heads_view<as<half>> const h(words.data(), {2, 3, 4});
  heads_view<as<bfloat16>> const b(words.data(), {2, 3, 4});
  EXPECT_EQ(posenc::load(h(0, 2)[0]), 1);
  EXPECT_EQ(posenc::load(b(1, 1)[1]), 1);
  store(h(1, 0)[3], 2), store(b(1, 2)[0], 2);
  EXPECT_EQ(words[15], 0x4000);
  EXPECT_EQ(words[20], 0x4000);
  std::uint16_t const* const read_only = words.data();
  heads_view<as<half> const> const strided(read_only, {3, 1, 2}, {4, 0});
  EXPECT_EQ(posenc::load(strided(2, 0)[0]), 1);
  heads_view<as<half> const> const converted = h;
  EXPECT_EQ(static_cast<void const*>(converted.data()), words.data());
  // Words alone are no view, and only of what they are.
  static_assert(!std::constructible_from<heads_view<half>, std::uint16_t*, heads_shape>);
  static_assert(!std::constructible_from<heads_view<float>, std::uint16_t*, heads_shape>);
  static_assert(!std::constructible_from<heads_view<as<half>>, std::uint16_t const*, heads_shape>);
  EXPECT_EQ(message_of([&] {
              heads_view<as<half>>(words.data(), {2, 3, 4}, {0, 4});
            }),
            "posenc: heads_view: heads that are written to must not overlap, got head_dim 4 with 2 "
            "tokens of stride 0 and 3 heads of stride 4");
}

}  // namespace
