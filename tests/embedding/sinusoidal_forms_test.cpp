#include "posenc/embedding/sinusoidal_forms.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "embedding/rows_of_forms.hpp"
#include "golden/sinusoidal.hpp"
#include "laws/embedding_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/embedding/learned_embedding.hpp"
#include "posenc/embedding/sin_cos_2d.hpp"
#include "posenc/encoding/scheme.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using rows_of_forms::expect_row;
using rows_of_forms::written;

/// The numbers of the paper, in either order.
oracle::sinusoidal_forms_row of_the_paper(std::int64_t position, std::size_t dim,
                                          bool alternating) {
  auto row = oracle::forms::zeros(dim);
  oracle::put_axis(row, 0, dim, position, alternating, static_cast<long double>(dim) / 2);
  return row;
}

TEST(sinusoidal_forms, vaswani_roformer_whisper_and_ctranslate2_follow_their_definitions) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {4u, 6u, 64u, 768u}) {
      for (std::int64_t const position : {0, 1, -3, 511, 1'000'003}) {
        expect_row<T>(vaswani_sinusoidal(dim), position, of_the_paper(position, dim, true));
        expect_row<T>(roformer_sinusoidal(dim), position, of_the_paper(position, dim, false));
        expect_row<T>(whisper_sinusoidal(dim), position,
                      oracle::timing_signal(position, dim, 1, 1e4L));
        expect_row<T>(ctranslate2_sinusoidal(dim), position,
                      oracle::timing_signal(position + 1, dim, 1, 1e4L));
      }
    }
  });
}

// [transformers, modeling_roformer.py and modeling_xlm.py: angles of 10000^(-2 (j // 2) / dim), the
// sines of even j, the cosines of odd ones]
TEST(sinusoidal_forms, vaswani_and_roformer_leave_out_the_last_cosine_of_odd_dims) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {1u, 3u, 7u, 129u}) {
      for (std::int64_t const position : {0, 1, -3, 511, 1'000'003}) {
        auto blocks = oracle::forms::zeros(dim), alternating = blocks;
        std::size_t const sines = dim / 2 + 1;
        for (std::size_t j = 0; j < dim; ++j) {
          auto const frequency = std::pow(oracle::wide(1e4), -2 * static_cast<oracle::wide>(j / 2) /
                                                                 static_cast<oracle::wide>(dim));
          auto const [c, s] = oracle::direction_at(static_cast<oracle::wide>(position), frequency);
          auto const angle = frequency * static_cast<oracle::wide>(position);
          oracle::forms::put(alternating, j, j % 2 == 0 ? s : c, angle);
          oracle::forms::put(blocks, j % 2 == 0 ? j / 2 : sines + j / 2, j % 2 == 0 ? s : c, angle);
        }
        expect_row<T>(vaswani_sinusoidal(dim), position, alternating);
        expect_row<T>(roformer_sinusoidal(dim), position, blocks);
      }
    }
  });
  // sin(2), sin(2 / 10000^(2/3)), cos(2).
  auto const row = written<double>(roformer_sinusoidal(3), std::int64_t{2});
  ASSERT_EQ(row.size(), 3u);
  EXPECT_NEAR(row[0], 0.90929742682568170, 1e-15);
  EXPECT_NEAR(row[1], 0.0043088560467428125, 1e-17);
  EXPECT_NEAR(row[2], -0.41614683654714239, 1e-15);
}

TEST(sinusoidal_forms, have_the_published_rows) {
  auto const expect = [](auto const& encoding, auto const& rows) {
    for (auto const& [position, values] : rows) {
      auto const row = written<double>(encoding, std::int64_t{position});
      for (std::size_t i = 0; i < 8; ++i)
        EXPECT_NEAR(
            row[i], values[i],
            tolerance::of_angle(static_cast<double>(position), 1) + tolerance::of_cosine<double>());
    }
  };
  expect(vaswani_sinusoidal(8), golden::sinusoidal_interleaved_half);
  expect(roformer_sinusoidal(8), golden::sinusoidal_concatenated_half);
  expect(whisper_sinusoidal(8), golden::sinusoidal_concatenated_half_minus_one);
}

TEST(sinusoidal_forms, tensor2tensor_follows_its_definition_odd_dims_included) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {2u, 3u, 4u, 5u, 31u, 64u}) {
      for (std::int64_t const position : {0, 1, -3, 511, 1'000'003}) {
        expect_row<T>(tensor2tensor_sinusoidal(dim), position,
                      oracle::timing_signal(position, dim, 1, 1e4L));
        expect_row<T>(tensor2tensor_sinusoidal(dim, 2, 5e5, 7), position,
                      oracle::timing_signal(position + 7, dim, 2, 5e5L));
      }
    }
  });
}

TEST(sinusoidal_forms, fairseq_follows_its_definition_and_pads_with_zeros) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {4u, 5u, 31u, 64u}) {
      auto const encoding = fairseq_sinusoidal(dim, 1);
      for (std::int64_t const position : {0, 2, 3, 1025, 1'000'003})
        expect_row<T>(encoding, position, oracle::timing_signal(position, dim, 1, 1e4L));
      EXPECT_TRUE(
          numbers::same_bits(written<T>(encoding, std::int64_t{1}), std::vector<T>(dim, T(0.0F))));
    }
  });
}

TEST(sinusoidal_forms, fairseq_has_the_published_row) {
  for (auto const& [position, values] : golden::sinusoidal_concatenated_half_minus_one) {
    auto const row = written<double>(fairseq_sinusoidal(8, 1'000'000), std::int64_t{position});
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(
          row[i], values[i],
          tolerance::of_angle(static_cast<double>(position), 1) + tolerance::of_cosine<double>());
  }
}

TEST(sinusoidal_forms, fairseq_counts_tokens_from_behind_its_padding_index) {
  using positions = std::vector<std::int64_t>;
  EXPECT_EQ(fairseq_positions(positions{5, 9, 9, 2}, 1), (positions{2, 3, 4, 5}));
  EXPECT_EQ(fairseq_positions(positions{1, 1, 5, 1, 9, 1}, 1), (positions{1, 1, 2, 1, 3, 1}));
  EXPECT_EQ(fairseq_positions(positions{0, 0}, 0), (positions{0, 0}));
  EXPECT_EQ(fairseq_positions(positions{7}, 0), (positions{1}));
  EXPECT_EQ(fairseq_positions({}, 1), positions());
}

TEST(sinusoidal_forms, scaled_multiplies_by_its_scale) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {2u, 64u, 100u}) {
      for (std::int64_t const position : {0, 5, 1'000'003}) {
        auto expected = oracle::forms::zeros(dim);
        oracle::put_axis(expected, 0, dim, position, false, static_cast<long double>(dim) / 2);
        expect_row<T>(scaled_sinusoidal(dim, 0.3), position, expected, 0.3);
      }
    }
  });
}

TEST(sinusoidal_forms, reject_what_has_no_rows) {
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(1); }),
            "posenc: tensor2tensor_sinusoidal: dim must be at least 2, got 1");
  std::string const scales =
      "posenc: tensor2tensor_sinusoidal: timescales must be finite and positive, got ";
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(8, 0); }), scales + "0");
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(8, 1, infinity()); }), scales + "infinity");
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(8, not_a_number()); }), scales + "NaN");
  EXPECT_EQ(message_of([] { fairseq_sinusoidal(0, 1); }),
            "posenc: fairseq_sinusoidal: dim must be at least 2, got 0");
  EXPECT_EQ(message_of([] { vaswani_sinusoidal(0); }),
            "posenc: vaswani_sinusoidal: dim must be positive, got 0");
  EXPECT_EQ(message_of([] { roformer_sinusoidal(0); }),
            "posenc: roformer_sinusoidal: dim must be positive, got 0");
  EXPECT_EQ(message_of([] { whisper_sinusoidal(2); }),
            "posenc: whisper_sinusoidal: dim must be even and at least 4, got 2");
  EXPECT_EQ(message_of([] { whisper_sinusoidal(7); }),
            "posenc: whisper_sinusoidal: dim must be even and at least 4, got 7");
  EXPECT_EQ(message_of([] { ctranslate2_sinusoidal(5); }),
            "posenc: ctranslate2_sinusoidal: dim must be even and at least 4, got 5");
  EXPECT_EQ(message_of([] { ctranslate2_sinusoidal(0); }),
            "posenc: ctranslate2_sinusoidal: dim must be even and at least 4, got 0");
  EXPECT_EQ(message_of([] { scaled_sinusoidal(7, 1); }),
            "posenc: scaled_sinusoidal: the dimension must be even and positive, got 7");
  EXPECT_EQ(message_of([] { scaled_sinusoidal(0, 1); }),
            "posenc: scaled_sinusoidal: the dimension must be even and positive, got 0");
  EXPECT_EQ(message_of([] { scaled_sinusoidal(8, infinity()); }),
            "posenc: sinusoidal: the scale must be finite, got infinity");
}

TEST(sinusoidal_forms, obey_the_laws_of_their_site) {
  laws::obey("tensor2tensor's, odd", tensor2tensor_sinusoidal(33, 2, 1e5, 1), 33);
  laws::obey_at_its_positions("RoFormer's, odd", roformer_sinusoidal(33), 33);
  laws::obey("Whisper's", whisper_sinusoidal(64), 64);
  laws::obey("CTranslate2's", ctranslate2_sinusoidal(32), 32);
  laws::obey("x-transformers'", scaled_sinusoidal(64, 0.125), 64);
  laws::obey_at_its_positions("fairseq's", fairseq_sinusoidal(17, 1), 17);
}

constexpr std::array times{0.0, 1.0, 0.25, 0.1, 981.5, 999.0, -3.75, 1e6 + 0.125};

TEST(timestep, follows_diffusers_with_all_its_options) {
  numbers::in_every_format([]<class T>() {
    for (double const t : times) {
      for (std::size_t const dim : {4u, 5u, 31u, 320u}) {
        expect_row<T>(timestep(dim), t, oracle::diffusers_timestep(t, dim, false, 1, 1, 1e4L));
        expect_row<T>(timestep(dim, {.downscale_freq_shift = 0, .flip_sin_to_cos = true}), t,
                      oracle::diffusers_timestep(t, dim, true, 0, 1, 1e4L));
        expect_row<T>(
            timestep(dim, {.scale = 1000, .max_period = 1e6, .downscale_freq_shift = 0.5}), t,
            oracle::diffusers_timestep(t, dim, false, 0.5L, 1000, 1e6L));
      }
    }
  });
}

TEST(timestep, of_ggml_has_the_cosines_first_and_no_shift) {
  numbers::in_every_format([]<class T>() {
    for (double const t : times) {
      for (std::size_t const dim : {2u, 3u, 15u, 256u}) {
        expect_row<T>(ggml_timestep(dim), t, oracle::diffusers_timestep(t, dim, true, 0, 1, 1e4L));
        expect_row<T>(ggml_timestep(dim, 100), t,
                      oracle::diffusers_timestep(t, dim, true, 0, 1, 100));
      }
    }
  });
}

/// sin 1, sin 0.1 ..., as in golden/sinusoidal.hpp: the frequencies of "Attention is all you need"
/// for 8 dims.
TEST(timestep, of_ggml_has_the_known_row) {
  auto const row = written<double>(ggml_timestep(8), 1.0);
  std::array const expected{0.54030230586813972,   0.99500416527802577,  0.99995000041666528,
                            0.99999950000004167,   0.84147098480789651,  0.099833416646828152,
                            9.9998333341666647e-3, 9.9999983333334167e-4};
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(row[i], expected[i], tolerance::of_power(1e4) + tolerance::of_cosine<double>())
        << i;
}

/// DDPM [Ho 2020] took both from fairseq.
TEST(timestep, by_default_is_the_timing_signal_of_fairseq) {
  for (std::size_t const dim : {4u, 33u, 128u})
    for (std::int64_t const t : {0, 1, 999})
      expect_row<double>(timestep(dim), static_cast<double>(t),
                         oracle::timing_signal(t, dim, 1, 1e4L));
}

TEST(timestep, of_one_frequency_is_the_time_itself) {
  auto const row = written<double>(timestep(3), 0.5);
  EXPECT_NEAR(row[0], std::sin(0.5), tolerance::of_cosine<double>() + 0x1p-53);
  EXPECT_NEAR(row[1], std::cos(0.5), tolerance::of_cosine<double>() + 0x1p-53);
  EXPECT_EQ(row[2], 0);
}

TEST(timestep, options_must_make_frequencies) {
  auto const message = [](std::size_t dim, timestep_form const& form) {
    return message_of([&] { timestep(dim, form); });
  };
  EXPECT_EQ(message(1, {}), "posenc: timestep: dim must be at least 2, got 1");
  EXPECT_EQ(message(8, {.scale = 0}), "posenc: timestep: scale must be finite and positive, got 0");
  EXPECT_EQ(message(8, {.scale = not_a_number()}),
            "posenc: timestep: scale must be finite and positive, got NaN");
  EXPECT_EQ(message(8, {.max_period = -1}),
            "posenc: timestep: max_period must be finite and positive, got -1");
  EXPECT_EQ(message(8, {.max_period = infinity()}),
            "posenc: timestep: max_period must be finite and positive, got infinity");
  EXPECT_EQ(message(8, {.downscale_freq_shift = 4}),
            "posenc: timestep: downscale_freq_shift must be finite and below 4, got 4");
  EXPECT_EQ(message(8, {.downscale_freq_shift = minus_infinity()}),
            "posenc: timestep: downscale_freq_shift must be finite and below 4, got -infinity");
  EXPECT_EQ(message_of([] { ggml_timestep(0); }),
            "posenc: timestep: dim must be at least 2, got 0");
}

TEST(timestep, obeys_the_laws_of_its_site) {
  laws::obey("diffusers'", timestep(33, {.scale = 1000}), 33);
  laws::obey("ggml's", ggml_timestep(320), 320);
}

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
