#include "posenc/model/layer_schedule.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "rejects.hpp"

namespace {
namespace of_layer_schedule {

using names = std::vector<std::string>;

TEST(layer_schedule, every_nth_counts_layers_from_1) {
  EXPECT_EQ(posenc::every_nth(7, 3, "full", "sliding"),
            (names{"sliding", "sliding", "full", "sliding", "sliding", "full", "sliding"}));
  EXPECT_EQ(posenc::every_nth(2, 1, "full", "sliding"), (names{"full", "full"}));
  EXPECT_EQ(posenc::every_nth(2, 5, "full", "sliding"), (names{"sliding", "sliding"}));
  EXPECT_EQ(posenc::every_nth(0, 5, "full", "sliding"), names{});
  EXPECT_EQ(message_of([] { posenc::every_nth(3, 0, "full", "sliding"); }),
            "posenc: every_nth: n must be positive, got 0");
}

TEST(layer_schedule, a_1_in_no_rope_layers_means_rope) {
  EXPECT_EQ(posenc::layers_with_rope(std::vector<double>{1, 1, 0, 1}),
            (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(message_of([] {
              posenc::layers_with_rope(std::vector<double>{1, 2});
            }),
            "posenc: no_rope_layers must hold 0 (no RoPE) or 1 (RoPE), got 2 at layer 1");
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
