/// Every default of site 1, compared with its value.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "numbers.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/embedding/learned_embedding.hpp"
#include "posenc/embedding/sin_cos_2d.hpp"
#include "posenc/embedding/sinusoidal_forms.hpp"
#include "posenc/embedding/timestep.hpp"

namespace {

using namespace posenc;

std::vector<double> written(auto const& encoding, std::int64_t position) {
  std::vector<double> row(encoding.dim());
  encoding.write(position, std::span(row));
  return row;
}

void expect_same(auto const& with_defaults, auto const& written_out, std::int64_t position = 5) {
  EXPECT_TRUE(numbers::same_bits(written(with_defaults, position), written(written_out, position)));
}

/// Nor is there a layout that was not written.
template <class F>
concept has_a_silent_layout = requires(F const& f) {
  sinusoidal(f);
};
static_assert(!has_a_silent_layout<frequencies>);

TEST(embedding_defaults, are_what_is_documented) {
  auto const f = geometric(16, 1e4);
  expect_same(sinusoidal<interleaved>(f), sinusoidal<interleaved>(f, 0));
  expect_same(sinusoidal<interleaved>(f, sinusoidal_form{}),
              sinusoidal<interleaved>(
                  f, sinusoidal_form{
                         .start = 0, .cosine_first = false, .scale = 1, .zeros = 0, .silent = {}}));
  expect_same(mae_sin_cos(3, 4, 16), mae_sin_cos(3, 4, 16, 10'000));
  expect_same(vit_sin_cos(3, 4, 16), vit_sin_cos(3, 4, 16, 10'000));
  expect_same(cogvideox_sin_cos(2, 3, 4, 32), cogvideox_sin_cos(2, 3, 4, 32, 10'000));
  expect_same(detr_sin_cos(3, 4, 16),
              detr_sin_cos(3, 4, 16, {.base = 10'000, .normalize = false, .scale = 1}));
  expect_same(detr_sin_cos(3, 4, 16, {.normalize = true}),
              detr_sin_cos(3, 4, 16, {10'000, true, 2 * std::numbers::pi}));
  expect_same(timestep(16), timestep(16, {.scale = 1,
                                          .max_period = 10'000,
                                          .downscale_freq_shift = 1,
                                          .flip_sin_to_cos = false}));
  expect_same(ggml_timestep(16), ggml_timestep(16, 10'000));
  expect_same(tensor2tensor_sinusoidal(16), tensor2tensor_sinusoidal(16, 1, 10'000, 0));
  expect_same(scaled_sinusoidal(16, 0.25), scaled_sinusoidal(16, 0.25, 10'000));
  std::vector<float> const table{1, 2, 3, 4};
  std::vector<float> a(4), b(4);
  std::vector<std::int64_t> const at{1, 0};
  learned_embedding<float>(table, 2).embed(heads_view(a.data(), {2, 1, 2}), at);
  learned_embedding<float>(table, 2, 0).embed(heads_view(b.data(), {2, 1, 2}), at);
  EXPECT_TRUE(numbers::same_bits(a, b));
  EXPECT_EQ(a[0], 3);
  grid_axis const axis{3, f};
  EXPECT_EQ(axis.first, 0);
  EXPECT_EQ(axis.step, 1);
}

TEST(embedding_positions, are_integers_of_any_type) {
  std::vector<float> const table{1, 2, 3, 4};
  auto const expect = [](auto const& encoding) {
    std::vector<float> a(4), b(4), c(4);
    encoding.embed(heads_view(a.data(), {2, 1, 2}), std::vector<std::int64_t>{1, 0});
    encoding.embed(heads_view(b.data(), {2, 1, 2}), std::vector<std::int32_t>{1, 0});
    encoding.embed(heads_view(c.data(), {2, 1, 2}), {1, 0});
    EXPECT_TRUE(numbers::same_bits(b, a));
    EXPECT_TRUE(numbers::same_bits(c, a));
    EXPECT_NE(a[0], 0);
  };
  expect(learned_embedding<float>(table, 2));
  expect(sinusoidal<halves>(geometric(2, 1e4)));
  expect(sin_cos_grid<halves>({{2, geometric(2, 1e4)}}, {0}));
  expect(scheme{nope(), sinusoidal<halves>(geometric(2, 1e4))});
}

/// In numbers, since the same code makes both sides of a comparison above: the second sine or
/// cosine of each.
TEST(embedding_defaults, have_a_base_of_ten_thousand) {
  EXPECT_NEAR(written(mae_sin_cos(1, 9, 8), 1)[1], std::sin(0.01), 1e-15);
  EXPECT_NEAR(written(vit_sin_cos(1, 9, 8), 1)[1], std::sin(1e-4), 1e-15);
  EXPECT_NEAR(written(sinusoidal<interleaved>(geometric(4, 1e4)), 1)[2], std::sin(0.01), 1e-15);
}

TEST(embedding_defaults, smallest_sizes_are_taken) {
  EXPECT_EQ(sinusoidal<interleaved>(geometric(2, 1e4)).dim(), 2u);
  EXPECT_EQ(mae_sin_cos(1, 1, 4).dim(), 4u);
  EXPECT_EQ(vit_sin_cos(1, 1, 4).dim(), 4u);
  EXPECT_EQ(cogvideox_sin_cos(1, 1, 1, 16).dim(), 16u);
  EXPECT_EQ(detr_sin_cos(1, 1, 4).dim(), 4u);
  EXPECT_EQ(timestep(2).dim(), 2u);
  EXPECT_EQ(tensor2tensor_sinusoidal(2).dim(), 2u);
  EXPECT_EQ(fairseq_sinusoidal(2, 1).dim(), 2u);
  std::vector<float> const one{7};
  EXPECT_EQ(learned_embedding<float>(one, 1).vectors(), 1u);
}

}  // namespace
