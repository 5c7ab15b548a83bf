#include "posenc/adapter/ggml_heads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rejects.hpp"

namespace {

using namespace posenc;

// Rows of 2 batches x 3 tokens x 4 heads, in the order of blocks.
std::vector<std::array<std::size_t, 3>> rows_of(ggml_heads<float> const& heads,
                                                ggml_row_range range, std::size_t* blocks) {
  std::vector<std::array<std::size_t, 3>> rows;
  *blocks = 0;
  heads.for_blocks(range, [&](ggml_block const& b) {
    ++*blocks;
    for (auto token = b.token; token < b.token + b.tokens; ++token)
      for (auto head = b.head; head < b.head + b.heads; ++head)
        rows.push_back({b.batch, token, head});
  });
  return rows;
}

TEST(ggml_heads, are_split_into_few_blocks_that_are_all_rows_of_a_range) {
  std::vector<float> x(2 * 3 * 4 * 2);
  ggml_heads<float> const heads(x.data(), {2, 4, 3, 2}, {4, 8, 32, 96});
  ASSERT_EQ(heads.rows(), 24u);
  for (std::size_t first = 0; first <= 24; ++first) {
    for (std::size_t last = first; last <= 24; ++last) {
      std::size_t blocks = 0;
      auto const rows = rows_of(heads, {first, last}, &blocks);
      ASSERT_EQ(rows.size(), last - first);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto const row = first + i;
        ASSERT_EQ(rows[i], (std::array{row / 12, row / 4 % 3, row % 4})) << first << ", " << last;
      }
      ASSERT_LE(blocks, 6u);  // of each batch: the end of a token, tokens, the start of one
      if (first == last) continue;
      ASSERT_EQ(heads.is_one_block({first, last}), blocks == 1) << first << ", " << last;
    }
  }
}

TEST(ggml_heads, are_split_over_threads_as_by_ggml) {
  std::vector<float> x(2 * 7);
  ggml_heads<float> const heads(x.data(), {2, 7, 1, 1}, {4, 8, 56, 56});
  auto const range = [&](int i, int n) {
    auto const [first, last] = heads.rows_of_thread(i, n);
    return std::array{first, last};
  };
  using pair = std::array<std::size_t, 2>;
  EXPECT_EQ(range(0, 1), (pair{0, 7}));
  EXPECT_EQ(range(0, 2), (pair{0, 4}));
  EXPECT_EQ(range(1, 2), (pair{4, 7}));
  EXPECT_EQ(range(3, 5), (pair{6, 7}));
  EXPECT_EQ(range(4, 5), (pair{7, 7}));  // two each: nothing is left
}

TEST(ggml_heads, have_a_view_of_each_block) {
  std::vector<float> x(100);
  ggml_heads<float const> const heads(x.data() + 1, {2, 2, 3, 2}, {4, 12, 32, 120});
  auto const view = heads.block({.batch = 1, .token = 1, .tokens = 2, .head = 1, .heads = 1});
  EXPECT_EQ(view.data(), x.data() + 1 + 30 + 8 + 3);
  EXPECT_EQ(view.shape(), (heads_shape{2, 1, 2}));
  EXPECT_EQ(view.strides().token, 8);
  EXPECT_EQ(view.strides().head, 3);
}

TEST(ggml_heads, say_what_is_wrong) {
  std::vector<float> x(64);
  auto const error = [&](std::array<std::int64_t, 4> ne, std::array<std::size_t, 4> nb) {
    return message_of([&] { ggml_heads<float>(x.data(), ne, nb); });
  };
  EXPECT_EQ(error({0, 1, 1, 1}, {4, 4, 4, 4}),
            "posenc: ggml_heads: ne[0], the head_dim, must be positive, got 0");
  EXPECT_EQ(error({2, 1, -1, 1}, {4, 8, 8, 8}),
            "posenc: ggml_heads: ne must not be negative, got -1 in dimension 2");
  EXPECT_EQ(error({2, 1, 1, 1}, {8, 8, 8, 8}),
            "posenc: ggml_heads: nb[0] must be the 4 bytes of an element and nb a multiple of it, "
            "got 8 in dimension 0");
  EXPECT_EQ(error({2, 1, 1, 1}, {4, 8, 10, 8}),
            "posenc: ggml_heads: nb[0] must be the 4 bytes of an element and nb a multiple of it, "
            "got 10 in dimension 2");
}

}  // namespace
