#include "posenc/rotation/checked_rotation.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "numbers.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using posenc::cos_sin_rows;
using posenc::halves;
using posenc::heads_view;
using posenc::interleaved;
using posenc::rotate;
using posenc::rotation_of;

// Few tokens, and more than 1 MiB: then heads go few at a time if a column does not hold the row.
struct shape {
  std::size_t tokens, heads, head_dim, rotary_dim;
};
std::vector<shape> shapes() {
  return {{3, 7, 128, 128},   {3, 7, 200, 200},   {300, 7, 200, 200}, {400, 7, 128, 128},
          {200, 6, 256, 256}, {100, 5, 512, 512}, {3000, 1, 96, 90},  {70, 3, 48, 24}};
}

template <class Layout>
void expect_same_bits_head_by_head() {
  for (auto const& s : shapes()) {
    SCOPED_TRACE(testing::Message() << s.tokens << " tokens x " << s.heads << " heads of "
                                    << s.head_dim << ", rotated: " << s.rotary_dim);
    std::vector<std::int64_t> positions(s.tokens);
    std::iota(positions.begin(), positions.end(), 1000);
    cos_sin_rows<float> const rows(posenc::geometric(s.rotary_dim, 1e4), positions);
    auto const before = numbers::random<float>(s.tokens * s.heads * s.head_dim);

    auto one_by_one = before, scaled_one_by_one = before;
    for (std::size_t token = 0; token < s.tokens; ++token) {
      for (std::size_t head = 0; head < s.heads; ++head) {
        auto const at = (token * s.heads + head) * s.head_dim;
        auto const row = rows.slice_tokens(token, 1);
        rotate<Layout>(heads_view(one_by_one.data() + at, {1, 1, s.head_dim}), row);
        rotate(row,
               rotation_of<Layout>(heads_view(scaled_one_by_one.data() + at, {1, 1, s.head_dim}))
                   .scale(0.3f));
      }
    }

    auto all = before, scaled = before;
    std::vector<float> elsewhere(before.size());
    rotate<Layout>(heads_view(all.data(), {s.tokens, s.heads, s.head_dim}), rows);
    rotate<Layout>(heads_view(before.data(), {s.tokens, s.heads, s.head_dim}),
                   heads_view(elsewhere.data(), {s.tokens, s.heads, s.head_dim}), rows);
    rotate(rows, rotation_of<Layout>(heads_view(scaled.data(), {s.tokens, s.heads, s.head_dim}))
                     .scale(0.3f));
    EXPECT_TRUE(numbers::same_bits(all, one_by_one));
    EXPECT_TRUE(numbers::same_bits(elsewhere, one_by_one));
    EXPECT_TRUE(numbers::same_bits(scaled, scaled_one_by_one));
  }
}

TEST(checked_rotation, of_all_heads_has_the_bits_of_each_alone) {
  expect_same_bits_head_by_head<halves>();
  expect_same_bits_head_by_head<interleaved>();
}

TEST(checked_rotation, is_in_place_by_addresses_and_not_by_types) {
  cos_sin_rows<float> const rows(posenc::geometric(32, 1e4), std::vector<std::int64_t>{5, 9});
  auto const before = numbers::random<float>(2 * 3 * 40);
  auto expected = before, read_only = before, paged = before;
  rotate<halves>(heads_view(expected.data(), {2, 3, 40}), rows);

  rotate<halves>(heads_view<float const>(read_only.data(), {2, 3, 40}),
                 heads_view(read_only.data(), {2, 3, 40}), rows);
  EXPECT_TRUE(numbers::same_bits(read_only, expected));

  std::vector<std::int64_t> const slots{0, 1};
  rotate<halves>(heads_view(paged.data(), {2, 3, 40}),
                 posenc::paged_heads(paged.data(), {1, 2, 3, 40}, slots), rows);
  EXPECT_TRUE(numbers::same_bits(paged, expected));

  // Another stride of heads is another place.
  EXPECT_THROW(
      rotate<halves>(heads_view(paged.data(), {1, 3, 40}),
                     heads_view(paged.data(), {1, 3, 40}, {120, 80}), rows.slice_tokens(0, 1)),
      std::invalid_argument);
}

TEST(checked_rotation, of_no_tokens_or_heads_does_nothing) {
  cos_sin_rows<float> const none(posenc::geometric(200, 1e4), std::vector<std::int64_t>{}),
      two(posenc::geometric(200, 1e4), std::vector<std::int64_t>{1, 2});
  rotate<halves>(heads_view<float>(nullptr, {0, 3, 200}), none);
  rotate<halves>(heads_view<float>(nullptr, {2, 0, 200}), two);
}

}  // namespace
