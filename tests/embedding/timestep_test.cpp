#include "posenc/embedding/timestep.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "embedding/rows_of_forms.hpp"
#include "laws/embedding_laws.hpp"
#include "non_numbers.hpp"
#include "posenc/embedding/sinusoidal_forms.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using rows_of_forms::expect_row;
using rows_of_forms::written;

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

}  // namespace
