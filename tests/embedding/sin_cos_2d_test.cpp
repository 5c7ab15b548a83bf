#include "posenc/embedding/sin_cos_2d.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "embedding/rows_of_forms.hpp"
#include "laws/embedding_laws.hpp"
#include "non_numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using rows_of_forms::expect_row;
using rows_of_forms::written;

/// Calls test(row, column, position) for every patch of an image, row by row.
template <class Test>
void for_every_patch(std::size_t height, std::size_t width, Test const& test) {
  std::int64_t position = 0;
  for (std::size_t row = 0; row < height; ++row)
    for (std::size_t column = 0; column < width; ++column)
      test(static_cast<long double>(row), static_cast<long double>(column), position++);
}

TEST(sin_cos_2d, writes_to_vectors) {
  auto const encoding = mae_sin_cos(3, 5, 8);
  std::vector<float> expected(8), in_vector(8);
  encoding.write(7, std::span(expected));
  encoding.write(7, in_vector);
  EXPECT_TRUE(numbers::same_bits(in_vector, expected));
}

TEST(sin_cos_2d, of_mae_has_the_column_first_then_the_row) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {4u, 8u, 48u, 192u}) {
      auto const encoding = mae_sin_cos(3, 5, dim);
      ASSERT_EQ(encoding.dim(), dim);
      ASSERT_EQ(encoding.cells(), 15u);
      for_every_patch(3, 5, [&](long double row, long double column, std::int64_t position) {
        auto expected = oracle::forms::zeros(dim);
        auto const quarter = static_cast<long double>(dim) / 4;
        oracle::put_axis(expected, 0, dim / 2, column, false, quarter);
        oracle::put_axis(expected, dim / 2, dim / 2, row, false, quarter);
        expect_row<T>(encoding, position, expected);
      });
    }
  });
}

TEST(sin_cos_2d, of_a_vit_reaches_the_base_in_its_last_frequency) {
  for (std::size_t const dim : {8u, 48u, 192u}) {
    auto const encoding = vit_sin_cos(4, 3, dim, 1000);
    for_every_patch(4, 3, [&](long double row, long double column, std::int64_t position) {
      auto expected = oracle::forms::zeros(dim);
      auto const steps = static_cast<long double>(dim) / 4 - 1;
      oracle::put_axis(expected, 0, dim / 2, column, false, steps, 1000);
      oracle::put_axis(expected, dim / 2, dim / 2, row, false, steps, 1000);
      expect_row<double>(encoding, position, expected);
    });
  }
  EXPECT_TRUE(numbers::same_bits(written<float>(vit_sin_cos(2, 2, 4), std::int64_t{3}),
                                 written<float>(mae_sin_cos(2, 2, 4), std::int64_t{3})))
      << "a single frequency is 1";
}

TEST(sin_cos_2d, of_cogvideox_has_the_frame_then_the_column_then_the_row) {
  constexpr std::size_t frames = 3, height = 2, width = 4;
  for (std::size_t const dim : {16u, 64u}) {
    auto const encoding = cogvideox_sin_cos(frames, height, width, dim);
    ASSERT_EQ(encoding.dim(), dim);
    for (std::size_t frame = 0; frame < frames; ++frame) {
      for_every_patch(height, width, [&](long double row, long double column, std::int64_t patch) {
        auto expected = oracle::forms::zeros(dim);
        auto const space = dim / 8 * 3;
        oracle::put_axis(expected, 0, dim / 4, static_cast<long double>(frame), false,
                         static_cast<long double>(dim) / 8);
        oracle::put_axis(expected, dim / 4, space, column, false,
                         static_cast<long double>(space) / 2);
        oracle::put_axis(expected, dim / 4 + space, space, row, false,
                         static_cast<long double>(space) / 2);
        expect_row<double>(encoding, static_cast<std::int64_t>(frame * height * width) + patch,
                           expected);
      });
    }
  }
}

TEST(sin_cos_2d, of_detr_counts_rows_and_columns_from_1_and_has_the_row_first) {
  numbers::in_every_format([]<class T>() {
    for (bool const normalize : {false, true}) {
      for (double const scale : {2 * std::numbers::pi, 10.0}) {
        auto const encoding =
            detr_sin_cos(3, 5, 64, {.base = 20, .normalize = normalize, .scale = scale});
        for_every_patch(3, 5, [&](long double row, long double column, std::int64_t position) {
          auto y = row + 1, x = column + 1;
          if (normalize)
            y = y / (3 + 1e-6L) * static_cast<long double>(scale),
            x = x / (5 + 1e-6L) * static_cast<long double>(scale);
          auto expected = oracle::forms::zeros(64);
          oracle::put_axis(expected, 0, 32, y, true, 16, 20);
          oracle::put_axis(expected, 32, 32, x, true, 16, 20);
          expect_row<T>(encoding, position, expected);
        });
      }
    }
  });
}

TEST(sin_cos_2d, inner_products_depend_on_the_distances_of_rows_and_columns_alone) {
  auto const encoding = mae_sin_cos(4, 5, 32);
  auto const product = [&](std::int64_t a, std::int64_t b) {
    auto const p = written<double>(encoding, a), q = written<double>(encoding, b);
    long double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      sum += static_cast<long double>(p[i]) * static_cast<long double>(q[i]);
    return static_cast<double>(sum);
  };
  auto const tolerance = 2 * 32 * 2 * tolerance::of_cosine<double>();
  EXPECT_NEAR(product(0, 7), product(6, 13), tolerance);  // one row and two columns apart
  EXPECT_NEAR(product(0, 7), product(12, 19), tolerance);
  EXPECT_GT(std::abs(product(0, 7) - product(3, 10)), 0.1)
      << "two rows, two columns back: 7 apart too, but not there";
}

TEST(sin_cos_2d, a_step_interpolates) {
  auto const f = geometric(8, 1e4);
  sin_cos_grid<halves> const every_half({{9, f, 0, 0.5}}, {0}), whole({{5, f}}, {0});
  for (std::int64_t i = 0; i < 5; ++i)
    EXPECT_TRUE(numbers::same_bits(written<float>(every_half, 2 * i), written<float>(whole, i)))
        << i;
}

TEST(sin_cos_2d, axes_may_have_blocks_of_different_sizes_in_any_order) {
  auto const few = geometric(2, 100), many = geometric(6, 100);
  sin_cos_grid<interleaved> const encoding({{2, few}, {3, many, 10}}, {1, 0});
  auto const row = written<float>(encoding, std::int64_t{5});
  auto const of_many = written<float>(sinusoidal<interleaved>(many), std::int64_t{12});
  auto const of_few = written<float>(sinusoidal<interleaved>(few), std::int64_t{1});
  ASSERT_EQ(row.size(), 8u);
  EXPECT_TRUE(numbers::same_bits(std::vector<float>(row.begin(), row.begin() + 6), of_many));
  EXPECT_TRUE(numbers::same_bits(std::vector<float>(row.begin() + 6, row.end()), of_few));
}

TEST(sin_cos_2d, is_added_to_the_embeddings_of_its_patches) {
  auto const encoding = mae_sin_cos(2, 3, 8);
  auto const before = numbers::random<double>(3 * 8);
  std::vector<std::int64_t> const positions{4, 0, 5};
  auto x = before;
  encoding.embed(numbers::view(x, 3, 8), positions);
  for (std::size_t token = 0; token < 3; ++token) {
    auto const p = written<double>(encoding, positions[token]);
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(x[token * 8 + i], before[token * 8 + i] + p[i]) << token << ", " << i;
  }
}

TEST(sin_cos_2d, a_position_beyond_the_grid_is_rejected_before_anything_is_changed) {
  auto const encoding = mae_sin_cos(2, 3, 8);
  auto const before = numbers::random<float>(3 * 8);
  auto x = before;
  for (std::int64_t const position : {-1, 6, 1'000'000}) {
    std::vector<std::int64_t> const positions{0, 5, position};
    auto const message =
        "posenc: sin_cos_grid: a position must be within [0, 6), got " + std::to_string(position);
    EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 8), positions); }), message);
    EXPECT_EQ(message_of([&] { encoding.write(position, std::span(x).first(8)); }), message);
  }
  EXPECT_EQ(message_of([&] { encoding.write(0, std::span(x).first(7)); }),
            "posenc: sin_cos_grid: a vector must have 8 numbers, got 7");
  std::vector<std::int64_t> const two{0, 1}, three{0, 1, 2};
  EXPECT_EQ(
      message_of([&] { encoding.embed(numbers::view(x, 3, 8), two); }),
      "posenc: sin_cos_grid: there must be one position per token, got 2 positions for 3 tokens");
  EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 4), three); }),
            "posenc: sin_cos_grid: embeddings must have 8 numbers, got 4");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(sin_cos_2d, a_grid_must_have_places_and_a_block_for_each_axis) {
  auto const f = geometric(4, 1e4);
  auto const message = [](std::vector<grid_axis> const& axes,
                          std::vector<std::size_t> const& blocks) {
    return message_of([&] { sin_cos_grid<halves>(axes, blocks); });
  };
  EXPECT_EQ(message({}, {}), "posenc: sin_cos_grid: there must be at least one axis, got none");
  EXPECT_EQ(message({{0, f}, {3, f}}, {0, 1}),
            "posenc: sin_cos_grid: a grid must have 1 to 2^32 cells, got 0 x 3");
  EXPECT_EQ(message({{1 << 20, f}, {1 << 20, f}}, {0, 1}),
            "posenc: sin_cos_grid: a grid must have 1 to 2^32 cells, got 1048576 x 1048576");
  EXPECT_EQ(message({{2, f}, {3, f}}, {0, 2}),
            "posenc: sin_cos_grid: blocks must name each of the 2 axes once, got 2");
  EXPECT_EQ(message({{2, f}, {3, f}}, {1, 1}),
            "posenc: sin_cos_grid: blocks must name each of the 2 axes once, got 1");
  EXPECT_EQ(message({{2, f}, {3, f}}, {1}),
            "posenc: sin_cos_grid: there must be a block for each of the 2 axes, got 1");
  auto const finite = "posenc: sin_cos_grid: coordinates must be finite and within 2^62, got ";
  EXPECT_EQ(message({{2, f, not_a_number()}}, {0}), finite + std::string("NaN on axis 0"));
  EXPECT_EQ(message({{2, f}, {2, f, 0, infinity()}}, {0, 1}),
            finite + std::string("infinity on axis 1"));
  EXPECT_NO_THROW(sin_cos_grid<halves>({{2, f, 0, 0x1p62}}, {0}));
}

TEST(sin_cos_2d, dims_must_be_shared_out_evenly) {
  EXPECT_EQ(message_of([] { mae_sin_cos(2, 2, 6); }),
            "posenc: mae_sin_cos: dim must be a positive multiple of 4, got 6");
  EXPECT_EQ(message_of([] { vit_sin_cos(2, 2, 0); }),
            "posenc: vit_sin_cos: dim must be a positive multiple of 4, got 0");
  EXPECT_EQ(message_of([] { detr_sin_cos(2, 2, 10); }),
            "posenc: detr_sin_cos: dim must be a positive multiple of 4, got 10");
  EXPECT_EQ(message_of([] { cogvideox_sin_cos(2, 2, 2, 24); }),
            "posenc: cogvideox_sin_cos: dim must be a positive multiple of 16, got 24");
  EXPECT_EQ(message_of([] { mae_sin_cos(2, 2, 8, 0); }),
            "posenc: mae_sin_cos: base must be finite and positive, got 0");
  EXPECT_EQ(message_of([] { detr_sin_cos(2, 0, 8); }),
            "posenc: sin_cos_grid: a grid must have 1 to 2^32 cells, got 0 x 1");
}

TEST(sin_cos_grid, obeys_the_laws_of_its_site) {
  laws::obey_at_its_positions(
      "one's own",
      sin_cos_grid<interleaved>({{2, geometric(8, 1e4)}, {3, geometric(10, 100), 0.5, 2}}, {1, 0}),
      18);
  laws::obey_at_its_positions("MAE's", mae_sin_cos(2, 3, 16), 16);
  laws::obey_at_its_positions("a ViT's", vit_sin_cos(3, 2, 16), 16);
  laws::obey_at_its_positions("CogVideoX's", cogvideox_sin_cos(3, 1, 2, 32), 32);
  laws::obey_at_its_positions("DETR's", detr_sin_cos(2, 3, 16, {.normalize = true}), 16);
}

}  // namespace
