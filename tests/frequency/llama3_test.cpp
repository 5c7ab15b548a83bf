#include "posenc/frequency/llama3.hpp"

#include <gtest/gtest.h>

#include <string>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

llama3_scaling scaling_of(golden::llama3_settings const& s) {
  return {.factor = s.factor,
          .low_freq_factor = s.low_freq_factor,
          .high_freq_factor = s.high_freq_factor,
          .original_length = static_cast<double>(s.trained)};
}

// The error of a blend's share: that of the turns, at most `high`, over the distance of the
// factors.
double relative_error(golden::llama3_settings const& s) {
  auto const width =
      s.high_freq_factor == s.low_freq_factor ? 1 : s.high_freq_factor - s.low_freq_factor;
  return tolerance::of_blended(s.base, s.factor,
                               tolerance::of_scaled(s.base) * s.high_freq_factor / width);
}

TEST(llama3, has_the_known_values) {
  for (auto const& [settings, pair, inv_freq] : golden::llama3_values) {
    auto const f = llama3(geometric(settings.dim, settings.base), scaling_of(settings));
    EXPECT_NEAR(f.inv_freq()[pair], inv_freq, relative_error(settings) * inv_freq)
        << settings.factor << ", pair " << pair;
  }
}

TEST(llama3, keeps_blends_and_divides_the_known_pairs) {
  for (auto const& s : {golden::llama31, golden::llama32, golden::llama4_scout}) {
    auto const series = geometric(s.dim, s.base), f = llama3(series, scaling_of(s));
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const before = series.inv_freq()[i], after = f.inv_freq()[i];
      if (i <= s.last_kept) {
        EXPECT_EQ(after, before) << i;
      } else if (i >= s.first_divided) {
        EXPECT_NEAR(after, before / s.factor, tolerance::unit_roundoff<double>() * before) << i;
      } else {
        EXPECT_TRUE(before / s.factor < after && after < before) << i;
      }
    }
    expect_close(
        f,
        oracle::llama3_rule(oracle::default_rule(s.dim, s.base), s.factor, s.low_freq_factor,
                            s.high_freq_factor, static_cast<double>(s.trained)),
        relative_error(s));
  }
}

TEST(llama3, keeps_the_attention_factor) {
  EXPECT_EQ(llama3(frequencies({1, 0.5}, 1.5), scaling_of(golden::llama31)).attention_factor(),
            1.5);
}

TEST(llama3, by_less_than_1_rotates_slow_pairs_faster) {
  auto settings = golden::llama31;
  settings.factor = 0.5;
  expect_close(llama3(geometric(settings.dim, settings.base), scaling_of(settings)),
               oracle::llama3_rule(oracle::default_rule(settings.dim, settings.base), 0.5L,
                                   settings.low_freq_factor, settings.high_freq_factor,
                                   static_cast<double>(settings.trained)),
               relative_error(settings));
}

TEST(llama3, refuses_what_is_no_scaling) {
  auto const message = [](llama3_scaling s) {
    return message_of([&] { llama3(geometric(8, 1e4), s); });
  };
  EXPECT_EQ(message({-0.5, 1, 4, 8192}),
            "posenc: llama3: factor must be finite and positive, got -0.5");
  EXPECT_EQ(message({8, 1, 4, -1}),
            "posenc: llama3: original_length must be finite and positive, got -1");
  std::string const must =
      "posenc: llama3: low_freq_factor and high_freq_factor must be finite and 0 <= low <= high, "
      "got ";
  EXPECT_EQ(message({8, 4, 1, 8192}), must + "4 and 1");
  EXPECT_EQ(message({8, -1, 1, 8192}), must + "-1 and 1");
  EXPECT_EQ(message({8, not_a_number(), 1, 8192}), must + "NaN and 1");
}

}  // namespace
