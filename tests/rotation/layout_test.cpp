#include "posenc/rotation/layout.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "posenc/simd/lanes.hpp"

namespace {

using posenc::halves;
using posenc::interleaved;
using posenc::detail::lanes;
using posenc::detail::one_lane;

void in_both_layouts(auto&& test) {
  {
    SCOPED_TRACE("halves");
    test.template operator()<halves>();
  }
  {
    SCOPED_TRACE("interleaved");
    test.template operator()<interleaved>();
  }
}

TEST(layout, is_as_drawn) {
  static_assert(halves::x_index(1, 4) == 1 && halves::y_index(1, 4) == 5);
  static_assert(interleaved::x_index(1, 4) == 2 && interleaved::y_index(1, 4) == 3);
}

TEST(layout, gives_every_number_to_one_pair) {
  in_both_layouts([]<class Layout>() {
    for (std::size_t pairs = 1; pairs <= 40; ++pairs) {
      std::vector<int> owners(2 * pairs, 0);
      for (std::size_t pair = 0; pair < pairs; ++pair)
        ++owners.at(Layout::x_index(pair, pairs)), ++owners.at(Layout::y_index(pair, pairs));
      EXPECT_EQ(owners, std::vector<int>(2 * pairs, 1)) << pairs;
    }
  });
}

// Loads and stores neighbouring pairs at the indices of the layout.
template <class Layout, class Lanes>
void expect_moves_by_index() {
  for (std::size_t pairs = Lanes::size; pairs <= 40; ++pairs) {
    std::vector<float> block(2 * pairs);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<float>(i);
    for (std::size_t pair = 0; pair + Lanes::size <= pairs; ++pair) {
      typename Lanes::number x, y;
      Layout::template load<Lanes>(block.data(), pair, pairs, x, y);
      std::vector<float> xs(Lanes::size), ys(Lanes::size), stored(2 * pairs, -1),
          expected(2 * pairs, -1);
      Lanes::store(xs.data(), x), Lanes::store(ys.data(), y);
      Layout::template store<Lanes>(stored.data(), pair, pairs, x, y);
      for (std::size_t i = 0; i < Lanes::size; ++i) {
        auto const at_x = Layout::x_index(pair + i, pairs), at_y = Layout::y_index(pair + i, pairs);
        EXPECT_EQ(xs[i], block[at_x]);
        EXPECT_EQ(ys[i], block[at_y]);
        expected[at_x] = block[at_x], expected[at_y] = block[at_y];
      }
      EXPECT_EQ(stored, expected) << pair << " of " << pairs;
    }
  }
}

TEST(layout, moves_pairs_where_its_indices_say) {
  in_both_layouts([]<class Layout>() {
    expect_moves_by_index<Layout, one_lane<float>>();
    expect_moves_by_index<Layout, lanes<float>>();
  });
}

TEST(layout, is_one_of_two) {
  static_assert(posenc::pair_layout<halves> && posenc::pair_layout<interleaved> &&
                !posenc::pair_layout<int>);
}

}  // namespace
