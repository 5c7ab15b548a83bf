#include "posenc/frequency/fope_floor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "close_to.hpp"
#include "golden/frequency_rules.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(fope_floor, stops_as_many_pairs_as_is_known) {
  for (auto const& [dim, base, trained, moving] : golden::fope_counts) {
    auto const f = fope_floor(geometric(dim, base), static_cast<double>(trained));
    EXPECT_EQ(static_cast<std::size_t>(
                  std::ranges::count_if(f.inv_freq(), [](double x) { return x != 0; })),
              moving);
    expect_close(
        f, oracle::fope_floor_rule(oracle::default_rule(dim, base), static_cast<double>(trained)),
        tolerance::of_scaled(base));
  }
}

TEST(fope_floor, keeps_a_pair_that_turns_just_once) {
  auto const once = 2 * std::numbers::pi / 512;
  auto const f = fope_floor(frequencies({once, std::nextafter(once, 0.0)}, 1.5), 512);
  EXPECT_EQ(f.inv_freq()[0], once);
  EXPECT_EQ(f.inv_freq()[1], 0);
  EXPECT_EQ(f.attention_factor(), 1.5);
}

TEST(fope_floor, trained_length_must_be_positive) {
  EXPECT_EQ(message_of([] { fope_floor(geometric(8, 1e4), 0); }),
            "posenc: fope_floor: trained_length must be finite and positive, got 0");
  EXPECT_EQ(message_of([] { fope_floor(geometric(8, 1e4), infinity()); }),
            "posenc: fope_floor: trained_length must be finite and positive, got infinity");
}

}  // namespace
