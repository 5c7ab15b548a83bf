#include "posenc/model/layer_schedule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rejects.hpp"

namespace {

using names = std::vector<std::string>;

TEST(layer_schedule, every_nth_counts_layers_from_1) {
  EXPECT_EQ(posenc::every_nth(7, 3, "full", "sliding"), (names{"sliding", "sliding", "full", "sliding", "sliding", "full", "sliding"}));
  EXPECT_EQ(posenc::every_nth(2, 1, "full", "sliding"), (names{"full", "full"}));
  EXPECT_EQ(posenc::every_nth(2, 5, "full", "sliding"), (names{"sliding", "sliding"}));
  EXPECT_EQ(posenc::every_nth(0, 5, "full", "sliding"), names{});
  EXPECT_EQ(message_of([] { posenc::every_nth(3, 0, "full", "sliding"); }), "posenc: every_nth: n must be positive, got 0");
}

TEST(layer_schedule, a_1_in_no_rope_layers_means_rope) {
  EXPECT_EQ(posenc::layers_with_rope(std::vector<double>{1, 1, 1, 0}), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(message_of([] {
              posenc::layers_with_rope(std::vector<double>{1, 2});
            }),
            "posenc: no_rope_layers must be of 0 (no RoPE) and 1 (RoPE), got 2 at layer 1");
}

}  // namespace
