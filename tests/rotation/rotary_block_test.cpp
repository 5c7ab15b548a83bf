#include "posenc/rotation/rotary_block.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "rejects.hpp"

namespace {

using posenc::heads_shape;
using posenc::heads_view;
using posenc::rotary_block;

std::vector<float> memory(3 * 2 * 16);

heads_view<float> heads_of(std::size_t head_dim) {
  return {memory.data(), {3, 2, head_dim}, {32, 16}};
}

// The block of every head begins at that dim and has rotary_dim dims.
void expect_block(rotary_block block, std::size_t head_dim, std::size_t first,
                  std::size_t rotary_dim) {
  auto const x = heads_of(head_dim), part = block.of(x, rotary_dim);
  EXPECT_EQ(part.shape(), (heads_shape{3, 2, rotary_dim}));
  for (std::size_t token = 0; token < 3; ++token)
    for (std::size_t head = 0; head < 2; ++head)
      EXPECT_EQ(part(token, head).data(), x(token, head).data() + first);
}

TEST(rotary_block, is_the_first_the_last_or_any_dims_of_every_head) {
  for (std::size_t head_dim = 1; head_dim <= 16; ++head_dim)
    for (std::size_t rotary_dim = 1; rotary_dim <= head_dim; ++rotary_dim) {
      expect_block(rotary_block::first(), head_dim, 0, rotary_dim);
      expect_block(rotary_block::last(), head_dim, head_dim - rotary_dim, rotary_dim);
      for (std::size_t dim = 0; dim + rotary_dim <= head_dim; ++dim)
        expect_block(rotary_block::from(dim), head_dim, dim, rotary_dim);
    }
}

TEST(rotary_block, of_heads_that_are_read_only_is_too) {
  heads_view<float const> const x = heads_of(8);
  EXPECT_EQ(rotary_block::last().of(x, 6)(0, 0).data(), memory.data() + 2);
}

TEST(rotary_block, of_no_heads_is_empty) {
  heads_view<float> const none(nullptr, {3, 0, 16});
  EXPECT_EQ(rotary_block::last().of(none, 8).shape(), (heads_shape{3, 0, 8}));
}

TEST(rotary_block, must_lie_within_the_head) {
  auto const message = [](rotary_block block, std::size_t rotary_dim) {
    return message_of([&] { block.of(heads_of(16), rotary_dim); });
  };
  std::string const must =
      "posenc: rotary_block: the rotary block must lie within the head, got dims ";
  EXPECT_EQ(message(rotary_block::first(), 18), must + "0 to 18 of head_dim 16");
  EXPECT_EQ(message(rotary_block::last(), 18), must + "0 to 18 of head_dim 16");
  EXPECT_EQ(message(rotary_block::from(9), 8), must + "9 to 17 of head_dim 16");
  EXPECT_EQ(message(rotary_block::from(17), 2), must + "17 to 19 of head_dim 16");
  for (auto const most : {~std::size_t{0}, ~std::size_t{0} - 8}) {  // the sum overflows
    EXPECT_NE(message(rotary_block::from(most), 16), "");
    EXPECT_NE(message(rotary_block::from(9), most), "");
    EXPECT_NE(message(rotary_block::last(), most), "");
  }
}

TEST(rotary_block, must_not_be_empty) {
  EXPECT_NE(message_of([] { rotary_block::first().of(heads_of(16), 0); }), "");
  EXPECT_NE(message_of([] { rotary_block::last().of(heads_of(16), 0); }), "");
}

}  // namespace
