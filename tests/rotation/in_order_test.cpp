#include "posenc/rotation/in_order.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "numbers.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/kernel.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rotation/placed_heads.hpp"

namespace {

using namespace posenc;

// Blocks and columns of every type, with and without tails.
constexpr std::size_t rotary_dims[] = {32, 64, 130, 256, 512, 600, 1024, 1100};
template <class T, class Layout>
struct given_heads {
  static constexpr std::size_t tokens = 3, heads = 5, before = 3, after = 2;

  explicit given_heads(std::size_t rotary_dim)
      : head_dim(before + rotary_dim + after),
        rows(geometric(rotary_dim, 1e4), std::vector<std::int64_t>{1, 100'003, -7}),
        source(numbers::random<T>(tokens * heads * head_dim, 3)) {}

  // In place, after the heads were copied; weights and gains if Fused.
  template <bool Fused>
  std::vector<T> rotated(detail::pace pace, std::size_t first_pair = 0,
                         std::size_t of_heads = heads) const {
    auto result = source;
    auto const weights = numbers::random<arithmetic_t<T>>(head_dim, 5);
    arithmetic_t<T> const gain(0.75);
    cos_sin_view<arithmetic_t<T>> const view = rows;
    detail::token_heads<T, T, Fused> some;
    some.first.from = some.first.to = result.data() + before;
    if constexpr (Fused) {
      some.first.weights = weights.data() + before;
      some.first.gain = &gain, some.first.gain_per_head = false;
    }
    some.cos = view.cos(0).data();
    some.tokens = tokens, some.heads = of_heads, some.cos_token = view.rotary_dim();
    some.from_head = some.to_head = static_cast<std::ptrdiff_t>(head_dim);
    some.from_token = some.to_token = static_cast<std::ptrdiff_t>(heads * head_dim);
    some.head_dim = head_dim, some.first_dim = before, some.pairs = view.pairs();
    some.pace = pace;
    pair_range const range{first_pair, view.pairs()};
    detail::rotate_tokens<Layout, Layout>(some, {&range, 1}, Fused);
    return result;
  }

  std::size_t head_dim;
  cos_sin_rows<arithmetic_t<T>> rows;
  std::vector<T> source;
};

// The first head of each token alone.
TEST(pace, of_one_head_changes_no_bit) {
  in_every_format_and_layout([]<class T, class Layout>() {
    for (auto const rotary_dim : rotary_dims) {
      given_heads<T, Layout> const given(rotary_dim);
      SCOPED_TRACE(rotary_dim);
      auto const plain = given.template rotated<false>({}, 5, 1);
      EXPECT_FALSE(numbers::same_bits(plain, given.source));
      EXPECT_TRUE(
          numbers::same_bits(given.template rotated<false>({.head_by_head = true}, 5, 1), plain));
      EXPECT_TRUE(numbers::same_bits(given.template rotated<true>({.head_by_head = true}, 0, 1),
                                     given.template rotated<true>({}, 0, 1)));
    }
  });
}

TEST(pace, changes_no_bit) {
  in_every_format_and_layout([]<class T, class Layout>() {
    for (auto const rotary_dim : rotary_dims) {
      given_heads<T, Layout> const given(rotary_dim);
      auto const plain = given.template rotated<false>({}),
                 fused = given.template rotated<true>({}),
                 later = given.template rotated<false>({}, 5);
      EXPECT_FALSE(numbers::same_bits(plain, given.source));
      for (unsigned bits = 1; bits < 16; ++bits) {
        SCOPED_TRACE(testing::Message() << "pace " << bits << " of " << rotary_dim << " dims");
        detail::pace const pace{.ahead = (bits & 1) != 0,
                                .in_order = (bits & 2) != 0,
                                .apart = (bits & 4) != 0,
                                .row_ahead = (bits & 8) != 0};
        EXPECT_TRUE(numbers::same_bits(given.template rotated<false>(pace), plain));
        EXPECT_TRUE(numbers::same_bits(given.template rotated<true>(pace), fused));
        EXPECT_TRUE(numbers::same_bits(given.template rotated<false>(pace, 5), later));
      }
    }
  });
}

template <std::size_t Registers>
struct group_of {
  static constexpr std::size_t pairs = 16, registers = Registers;
};

TEST(what_to_read_first, is_x_or_all_of_long_halves) {
  using detail::what_to_read_first, detail::groups_of_block, detail::read_first;
  using one_by_one = group_of<4>;
  static_assert(groups_of_block<halves, one_by_one> == 4);
  static_assert(groups_of_block<interleaved, group_of<2>> == 4);
  EXPECT_EQ((what_to_read_first<interleaved, one_by_one>(1024, 4096)), read_first::nothing);
  EXPECT_EQ((what_to_read_first<halves, one_by_one>(64, 512)), read_first::nothing);  // one block
  EXPECT_EQ((what_to_read_first<halves, one_by_one>(128, 511)), read_first::nothing);
  EXPECT_EQ((what_to_read_first<halves, one_by_one>(128, 512)), read_first::x);
  EXPECT_EQ((what_to_read_first<halves, one_by_one>(128, 1023)), read_first::x);
  EXPECT_EQ((what_to_read_first<halves, one_by_one>(128, 1024)), read_first::x_and_y);
  constexpr auto block = groups_of_block<halves, group_of<2>> * 16;
  EXPECT_EQ((what_to_read_first<halves, group_of<2>>(block, 4096)), read_first::nothing);
  EXPECT_EQ((what_to_read_first<halves, group_of<2>>(block + 16, 4096)), read_first::x_and_y);
}

TEST(in_order_is_faster, of_whole_blocks_beyond_a_cache) {
  using detail::in_order_is_faster;
  constexpr std::size_t mib = std::size_t{1} << 20;
  // Interleaved: beyond L2. Near halves: never, of 16 bits beyond L2.
  EXPECT_FALSE((in_order_is_faster<interleaved, interleaved, float, float>(256, mib - 1)));
  EXPECT_TRUE((in_order_is_faster<interleaved, interleaved, float, float>(256, mib)));
  EXPECT_FALSE((in_order_is_faster<interleaved, interleaved, float, float>(250, 64 * mib)));
  EXPECT_FALSE((in_order_is_faster<halves, halves, float, float>(127, 64 * mib)));
  EXPECT_TRUE((in_order_is_faster<halves, halves, float, float>(256, 16 * mib)));
  EXPECT_FALSE((in_order_is_faster<halves, halves, float, float>(257, 64 * mib)));
  EXPECT_TRUE((in_order_is_faster<halves, halves, bfloat16, bfloat16>(256, mib)));
  // All of a head is read twice: beyond L3.
  EXPECT_FALSE((in_order_is_faster<halves, halves, double, double>(512, 16 * mib - 1)));
  EXPECT_TRUE((in_order_is_faster<halves, halves, double, double>(512, 16 * mib)));
}

}  // namespace
