#include "posenc/adapter/ggml_rope_parameters.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace {

using namespace posenc;

// Their errors are tested with the op, ggml_test.cpp.
TEST(ggml_rope_parameters, read_what_ggml_ropes_functions_leave_in_op_params) {
  std::array<std::int32_t, 16> op_params{-1, 4, 8, -1, 512};
  auto const put = [&](std::size_t word, float x) {
    op_params[word] = std::bit_cast<std::int32_t>(x);
  };
  put(5, 100), put(6, 0.25f), put(7, 0.5f), put(8, 2), put(9, 16), put(10, 3);
  op_params[11] = 5, op_params[12] = 6, op_params[13] = 7, op_params[14] = 8, op_params[15] = 10;
  auto const p = ggml_rope_parameters::of(op_params.data());
  EXPECT_EQ(p.n_dims, 4);
  EXPECT_EQ(p.mode, 8);
  EXPECT_EQ(p.n_ctx_orig, 512);
  EXPECT_EQ(p.freq_base, 100);
  EXPECT_EQ(p.freq_scale, 0.25f);
  EXPECT_EQ(p.ext_factor, 0.5f);
  EXPECT_EQ(p.attn_factor, 2);
  EXPECT_EQ(p.beta_fast, 16);
  EXPECT_EQ(p.beta_slow, 3);
  EXPECT_EQ(p.sections, (std::array<std::int32_t, 4>{5, 6, 7, 8}));
  EXPECT_EQ(p.n_offs, 10);
}

TEST(ggml_rope_parameters, have_frequencies_that_can_be_worked_out_by_hand) {
  auto const f = ggml_frequencies({.n_dims = 4, .freq_base = 100, .freq_scale = 0.5f}, 8,
                                  std::array{1.0f, 4.0f});
  ASSERT_EQ(f.pairs(), 2u);
  EXPECT_EQ(f.inv_freq()[0], 0.5);
  EXPECT_NEAR(f.inv_freq()[1], 0.1 / 4 / 2, 1e-17);
  EXPECT_EQ(f.attention_factor(), 1);
  // VISION restarts, and its sections repeat.
  auto const v =
      ggml_frequencies({.n_dims = 8, .mode = 24, .freq_base = 16, .sections = {2, 1, 0, 0}}, 16);
  ASSERT_EQ(v.pairs(), 8u);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(v.inv_freq()[i], i % 3 == 1 ? 0.5 : 1, 1e-16) << i;
  // A pair with p-RoPE's factor stands.
  auto const stands = ggml_frequencies({.n_dims = 4}, 4, std::array{1.0f, 1e30f});
  EXPECT_EQ(stands.inv_freq()[1], 0);
  EXPECT_EQ(stands.rotated_pairs().size(), 1u);
  EXPECT_EQ(stands.rotated_pairs()[0].last, 1u);
  // freq_scale above 1 lowers the factor.
  auto const lower =
      ggml_frequencies({.n_dims = 4, .freq_scale = 2, .ext_factor = 1, .attn_factor = 3}, 4);
  EXPECT_NEAR(lower.attention_factor(), 3 * (1 - 0.1 * std::numbers::ln2), 1e-15);
}

}  // namespace
