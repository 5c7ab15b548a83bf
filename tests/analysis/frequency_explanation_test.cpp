#include "posenc/analysis/frequency_explanation.hpp"

#include <gtest/gtest.h>

#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(frequency_explanation, finds_a_parameter_by_its_name) {
  frequency_explanation const found{
      .rule = "linear",
      .parameters = {{"base", 1e4, 9999, 10001}, {"factor", {}, 2, 8}},
      .made = geometric(4, 1e4)};
  EXPECT_EQ(found["base"].value, 1e4);
  EXPECT_EQ(found["factor"].value, std::nullopt);
  EXPECT_EQ(found["factor"].most, 8);
  EXPECT_EQ(message_of([&] { found["beta"]; }),
            "posenc: frequency_explanation: linear has no parameter beta");
}

TEST(frequency_explanation, the_best_is_the_first) {
  identification const found{.explanations = {{.rule = "linear", .made = geometric(4, 10)},
                                              {.rule = "ntk", .made = geometric(4, 20)}}};
  EXPECT_EQ(found.best().rule, "linear");
  EXPECT_EQ(&found.best(), &found.explanations[0]);
}

}  // namespace
