#pragma once

/// Frequencies against an oracle's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "tolerance.hpp"

/// Each within `relative` of the expected value; frequency 0 exactly.
inline void expect_close(posenc::frequencies const& f, std::vector<double> const& expected,
                         double relative) {
  ASSERT_EQ(f.pairs(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(f.inv_freq()[i], expected[i], relative * expected[i]) << "pair " << i;
}

namespace tolerance {

/// A series of powers of base times powers of factor, and a few operations on them, relative.
inline double of_scaled(double base, double factor = 1) {
  return of_power(base) + of_power(factor) + 8 * unit_roundoff<double>();
}

/// The relative error of e (1 - share + share / factor), whose value may be the smaller of e and
/// e / factor, if the share is off by share_error.
inline double of_blended(double base, double factor, double share_error) {
  return of_scaled(base, factor) + std::max(factor, 1 / factor) * share_error;
}

}  // namespace tolerance
