#include "posenc/model/layer_mask.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rejects.hpp"

namespace of_layer_mask {
namespace {

using posenc::both_ways;
using posenc::layer_description;
using posenc::mask;
using posenc::mask_of;

using blocks = std::vector<std::int64_t>;

// What the fields say, word by word.
bool sees(layer_description const& layer, blocks const& of, std::size_t t, std::size_t s) {
  bool const behind = s <= t && (!layer.window || t - s < *layer.window);
  bool const ahead = s > t && (!layer.ahead || s - t <= *layer.ahead);
  bool const chunk = !layer.chunk || t / *layer.chunk == s / *layer.chunk;
  bool const is_far = layer.both_ways == both_ways::image_within_window && s <= t && !behind;
  bool const is_together =
      layer.both_ways != both_ways::none && of[t] != 0 && of[t] == of[s] && !is_far;
  return ((behind || ahead) && chunk) || is_together;
}

bool shows(mask const& m, std::size_t keys, std::size_t query, std::size_t t, std::size_t s) {
  auto const seen = m.positions(static_cast<std::int64_t>(t));
  auto const at = static_cast<std::int64_t>(s);
  bool const is_given = m.given_cells() == nullptr || m.given_cells()->bias(query, 0, s) == 0;
  return s < keys && seen.first <= at && at <= seen.last && is_given;
}

TEST(layer_mask, shows_what_the_fields_of_a_layer_say) {
  blocks const of{0, 0, 3, 3, 3, 3, 3, 3, 0, 5, 5, 0};
  auto const keys = of.size();
  using size = std::optional<std::size_t>;
  for (size const window : {size(), size(1), size(4), size(100)})
    for (size const ahead : {size(0), size(3), size()})
      for (size const chunk : {size(), size(5)})
        for (auto const together :
             {both_ways::none, both_ways::image, both_ways::image_within_window, both_ways::prefix})
          for (std::size_t const queries : {0u, 1u, 12u}) {
            layer_description const layer{.name = "",
                                          .window = window,
                                          .ahead = ahead,
                                          .chunk = chunk,
                                          .both_ways = together};
            std::vector<unsigned char> cells(7, 9);
            auto const seen = mask_of(layer, of, queries, cells);
            EXPECT_EQ(cells.size(), together == both_ways::none ? 0 : queries * keys);
            for (std::size_t i = 0; i < queries; ++i)
              for (std::size_t s = 0; s < keys; ++s) {
                auto const t = keys - queries + i;
                ASSERT_EQ(shows(seen, keys, i, t, s), sees(layer, of, t, s))
                    << "query at " << t << ", key " << s << ", window " << window.value_or(0);
              }
          }
}

TEST(layer_mask, of_text_is_a_mask_by_positions) {
  EXPECT_EQ(mask_of({.name = ""}), mask::causal);
  EXPECT_EQ(mask_of({.name = "", .ahead = {}}), mask::full);
  EXPECT_EQ(mask_of({.name = "", .window = 65, .ahead = 64}), mask::sliding_window(65));
  EXPECT_EQ(mask_of({.name = "", .window = std::size_t{1} << 63}), mask::causal);
  EXPECT_EQ(mask_of({.name = "", .chunk = 8192}), mask::causal & mask::chunked(8192));
}

TEST(layer_mask, refuses_more_queries_than_keys) {
  std::vector<unsigned char> cells;
  EXPECT_EQ(message_of([&] { mask_of({.name = ""}, blocks(3), 4, cells); }),
            "posenc: mask_of: queries must be the last of the 3 tokens, got 4");
}

}  // namespace
}  // namespace of_layer_mask
