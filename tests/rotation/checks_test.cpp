#include "posenc/rotation/detail/checks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rotation/placed_heads.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::cos_sin_rows;
using posenc::halves;
using posenc::heads_view;
using posenc::rotary_block;
using posenc::rotate;
using posenc::rotated;

// One column, several, and tails; few tokens, and more than 1 MiB, where the loops may change.
struct shape {
  std::size_t tokens, heads, head_dim, rotary_dim;
};
std::vector<shape> shapes(std::size_t size_of_number) {
  std::vector<shape> result;
  for (std::size_t const dim : {64u, 80u, 192u, 600u}) result.push_back({3, 5, dim + 5, dim});
  auto const beyond = [&](std::size_t heads, std::size_t head_dim, std::size_t rotary_dim) {
    auto const of_token = heads * rotary_dim * size_of_number;
    result.push_back({(std::size_t{1} << 20) / of_token + 1, heads, head_dim, rotary_dim});
  };
  beyond(18, 600, 590);
  return result;
}

template <class Layout, class T>
void expect_same_bits_head_by_head() {
  using real = arithmetic_t<T>;
  for (auto const& s : shapes(sizeof(T))) {
    SCOPED_TRACE(testing::Message() << s.tokens << " tokens x " << s.heads << " heads of "
                                    << s.head_dim << ", rotated: " << s.rotary_dim);
    std::vector<std::int64_t> positions(s.tokens);
    std::iota(positions.begin(), positions.end(), 1000);
    cos_sin_rows<real> const rows(posenc::geometric(s.rotary_dim, 1e4), positions);
    auto const before = numbers::random<T>(s.tokens * s.heads * s.head_dim);
    auto const scaled = [](auto const& heads) {
      return rotated<Layout>(heads).block(rotary_block::last()).scale(real(0.3));
    };

    auto one_by_one = before, scaled_one_by_one = before;
    for (std::size_t token = 0; token < s.tokens; ++token) {
      auto const row = rows.slice_tokens(token, 1);
      for (std::size_t head = 0; head < s.heads; ++head) {
        auto const at = (token * s.heads + head) * s.head_dim;
        rotate<Layout>(heads_view(one_by_one.data() + at, {1, 1, s.head_dim}), row,
                       rotary_block::last());
        rotate(row, scaled(heads_view(scaled_one_by_one.data() + at, {1, 1, s.head_dim})));
      }
    }

    auto all = before, all_scaled = before;
    posenc::heads_shape const shape{s.tokens, s.heads, s.head_dim};
    rotate<Layout>(heads_view(all.data(), shape), rows, rotary_block::last());
    rotate(rows, scaled(heads_view(all_scaled.data(), shape)));
    EXPECT_FALSE(numbers::same_bits(all, before));
    EXPECT_TRUE(numbers::same_bits(all, one_by_one));
    EXPECT_TRUE(numbers::same_bits(all_scaled, scaled_one_by_one));
  }
}

TEST(number_rotation, of_all_heads_have_the_bits_of_each_alone) {
  in_every_format_and_a_layout(
      []<class T, class Layout>() { expect_same_bits_head_by_head<Layout, T>(); });
}

TEST(number_rotation, are_in_place_by_addresses_and_not_by_types) {
  cos_sin_rows<float> const rows(posenc::geometric(32, 1e4), std::vector<std::int64_t>{5, 9});
  auto const before = numbers::random<float>(2 * 3 * 40);
  auto expected = before, read_only = before, paged = before;
  rotate<halves>(heads_view(expected.data(), {2, 3, 40}), rows);

  rotate<halves>(heads_view<float const>(read_only.data(), {2, 3, 40}),
                 heads_view(read_only.data(), {2, 3, 40}), rows);
  EXPECT_TRUE(numbers::same_bits(read_only, expected));

  std::vector<std::int64_t> const slots{0, 1};
  rotate<halves>(heads_view(paged.data(), {2, 3, 40}),
                 posenc::heads_view(paged.data(), {1, 2, 3, 40}, slots), rows);
  EXPECT_TRUE(numbers::same_bits(paged, expected));

  // Another stride of heads is another place.
  EXPECT_THROW(
      rotate<halves>(heads_view(paged.data(), {1, 3, 40}),
                     heads_view(paged.data(), {1, 3, 40}, {120, 80}), rows.slice_tokens(0, 1)),
      std::invalid_argument);
}

TEST(number_rotation, of_no_tokens_or_heads_does_nothing) {
  cos_sin_rows<float> const none(posenc::geometric(200, 1e4), std::vector<std::int64_t>{}),
      two(posenc::geometric(200, 1e4), std::vector<std::int64_t>{1, 2});
  rotate<halves>(heads_view<float>(nullptr, {0, 3, 200}), none);
  rotate<halves>(heads_view<float>(nullptr, {2, 0, 200}), two);
}

}  // namespace
