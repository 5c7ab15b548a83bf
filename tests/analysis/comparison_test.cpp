#include "posenc/analysis/compare.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "posenc/analysis/compare.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/frequency/geometric.hpp"

namespace {

using namespace posenc;

layer_description layer(double base) {
  return {.name = "full_attention",
          .layers = {0},
          .head_dim = 8,
          .rotary = {{.rule = "default", .frequencies = geometric(8, base), .layout = halves()}}};
}

std::int64_t last_distance(layer_comparison const& found) { return found.scores.back().distance; }

TEST(comparison, the_default_threshold_is_half_a_unit_of_bfloat16) {
  auto const threshold = static_cast<float>(compare_options().threshold);
  EXPECT_EQ(static_cast<float>(bfloat16(1 + threshold)), 1);
  EXPECT_GT(static_cast<float>(bfloat16(1 + threshold * (1 + 0x1p-7f))), 1);
}

TEST(comparison, without_a_length_distances_end_at_4096_or_at_the_smaller_context) {
  EXPECT_EQ(last_distance(compare(layer(1e4), layer(1e5))), 4095);
  EXPECT_EQ(last_distance(compare(layer(1e4), layer(1e5), {.length = 5000})), 4999);
  auto const last = [](std::optional<std::size_t> a, std::optional<std::size_t> b) {
    model_description const of_a{.type = "x", .layers = 1, .context = a, .kinds = {layer(1e4)}},
        of_b{.type = "x", .layers = 1, .context = b, .kinds = {layer(1e5)}};
    return last_distance(compare(of_a, of_b).layers.at(0).difference);
  };
  EXPECT_EQ(last({}, {}), 4095);
  EXPECT_EQ(last(100, 7000), 99);
  EXPECT_EQ(last(7000, 100), 99);
  EXPECT_EQ(last({}, 7000), 6999);
}

TEST(comparison, of_fields_is_equal_if_names_and_values_are) {
  field_difference const one{"window", "512", "1024"};
  EXPECT_EQ(one, (field_difference{"window", "512", "1024"}));
  EXPECT_NE(one, (field_difference{"chunk", "512", "1024"}));
  EXPECT_NE(one, (field_difference{"window", "256", "1024"}));
  EXPECT_NE(one, (field_difference{"window", "512", "2048"}));
}

}  // namespace
