#include "posenc/model/detail/layer_schedule.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {
namespace of_layer_schedule {

using names = std::vector<std::string>;

TEST(layer_schedule, full_every_counts_layers_from_1) {
  using posenc::detail::full_every;
  std::string const full = "full_attention";
  EXPECT_EQ(full_every(7, 3, "slides"),
            (names{"slides", "slides", full, "slides", "slides", full, "slides"}));
  EXPECT_EQ(full_every(4, 3, "slides", 0), (names{full, "slides", "slides", full}));
  EXPECT_EQ(full_every(2, 1, "slides"), (names{full, full}));
  EXPECT_EQ(full_every(2, 5, "slides"), (names{"slides", "slides"}));
  EXPECT_EQ(full_every(0, 5, "slides"), names{});
  EXPECT_EQ(full_every(2, 0, "slides"), (names{"slides", "slides"}));
  EXPECT_EQ(full_every(2, 0, "slides", 0), (names{"slides", "slides"}));
}

TEST(layer_schedule, equal_layers_share_a_kind_that_is_read_once) {
  using posenc::detail::scheduled_layer;
  std::vector<scheduled_layer> const layers{{.type = "full"},
                                            {.type = "conv", .attends = false, .rotates = false},
                                            {.type = "full", .rotates = false},
                                            {.type = "full"},
                                            {.type = "full", .sinks = true},
                                            {.type = "full", .rotates = false}};
  std::size_t read = 0;
  auto const kinds = posenc::detail::kinds_of(
      layers, [&](posenc::layer_description& kind, scheduled_layer const& layer) {
        kind.sinks = layer.sinks, ++read;
      });
  ASSERT_EQ(kinds.size(), 4u);
  EXPECT_EQ(read, 4u);
  using indices = std::vector<std::size_t>;
  EXPECT_EQ(kinds[0].name, "full");
  EXPECT_EQ(kinds[0].layers, (indices{0, 3}));
  EXPECT_EQ(kinds[1].name, "conv");
  EXPECT_EQ(kinds[1].layers, indices{1});
  EXPECT_EQ(kinds[2].name, "full, NoPE");
  EXPECT_EQ(kinds[2].layers, (indices{2, 5}));
  EXPECT_EQ(kinds[3].name, "full");
  EXPECT_EQ(kinds[3].layers, indices{4});
  EXPECT_TRUE(kinds[3].sinks);
}

}  // namespace of_layer_schedule
}  // namespace
