#include "posenc/frequency/phase_steps.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using posenc::phase;
using posenc::phase_step;
using posenc::phase_steps;

TEST(phase_steps, have_the_step_of_each_pair) {
  std::vector<double> const inv_freq{1, 0.3, 0, 12345.678}, rest{0x1p-54, -0x1p-57, 0, 0};
  phase_steps const steps(inv_freq, rest);
  ASSERT_EQ(steps.pairs(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    phase_step const step(inv_freq[i], rest[i]);
    EXPECT_EQ(steps.high()[i], step.at(std::int64_t{1})) << i;
    // Places 65 to 96, one place further up each.
    EXPECT_EQ((steps.high()[i] << 32) + steps.low()[i], step.at(std::int64_t{1} << 32)) << i;
    EXPECT_DOUBLE_EQ(steps.turns()[i], inv_freq[i] / 6.283185307179586) << i;
  }
}

TEST(phase_steps, are_laid_out_alike_for_registers_of_any_width) {
  static_assert(phase_steps::padding == 15, "16 doubles are 1024 bits; the same for all targets");
  for (std::size_t pairs = 1; pairs < 20; ++pairs) {
    phase_steps const steps(std::vector<double>(pairs, 0.5));
    for (auto i = pairs; i < pairs + phase_steps::padding; ++i) {
      EXPECT_EQ(steps.high()[i], 0u);
      EXPECT_EQ(steps.low()[i], 0u);
      EXPECT_EQ(steps.turns()[i], 0);
    }
    auto const begins_a_line = [](auto const* list) {
      return reinterpret_cast<std::uintptr_t>(list) % 64 == 0;
    };
    EXPECT_TRUE(begins_a_line(steps.high()) && begins_a_line(steps.low()) &&
                begins_a_line(steps.turns()));
  }
}

}  // namespace
