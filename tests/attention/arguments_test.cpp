#include "posenc/attention/arguments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "posenc/score/alibi.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

detail::attention_arguments checked(heads_shape q, heads_shape k, heads_shape v,
                                    attention_options const& options = {}) {
  return detail::checked_arguments<float>("attention", nope(), q, k, v, options);
}
std::string refusal(heads_shape q, heads_shape k, heads_shape v,
                    attention_options const& options = {}) {
  return message_of([&] { checked(q, k, v, options); });
}

TEST(attention_arguments, have_every_default_filled_in) {
  auto const in = checked({2, 8, 16}, {5, 2, 16}, {5, 2, 3});
  EXPECT_EQ(in.group, 4u);
  EXPECT_EQ(in.product_dim, 16u);
  EXPECT_EQ(in.value_dim, 3u);
  EXPECT_EQ(in.scale, 0.25);
  auto const all = [](token_positions const& at) {
    return std::vector<std::int64_t>(at.begin(), at.end());
  };
  EXPECT_EQ(all(in.key_positions), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(all(in.query_positions), (std::vector<std::int64_t>{3, 4}));
}

TEST(attention_arguments, shapes_that_do_not_agree_are_refused) {
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 5}, {3, 2, 4}),
            "posenc: attention: keys must have the queries' head_dim 4, got 5");
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 4}, {3, 1, 4}),
            "posenc: attention: there must be one value per key, [3][2], got [3][1]");
  EXPECT_EQ(refusal({2, 0, 4}, {3, 2, 4}, {3, 2, 4}),
            "posenc: attention: there must be a head, got 0");
  EXPECT_EQ(refusal({2, 3, 4}, {3, 2, 4}, {3, 2, 4}),
            "posenc: attention: kv_heads must divide heads, got 2 kv heads for 3 heads");
  EXPECT_EQ(refusal({4, 2, 4}, {3, 2, 4}, {3, 2, 4}),
            "posenc: attention: the positions of queries must be given where they outnumber keys, "
            "got 4 queries and 3 keys");
}

TEST(attention_arguments, options_that_do_not_fit_are_refused) {
  std::vector<std::int64_t> const three{1, 2, 3};
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 4}, {3, 2, 4}, {.query_positions = three}),
            "posenc: attention: there must be one position for each of the 2 queries, got 3");
  EXPECT_EQ(refusal({2, 2, 4}, {2, 2, 4}, {2, 2, 4}, {.key_positions = three}),
            "posenc: attention: there must be one position for each of the 2 keys, got 3");
  EXPECT_EQ(refusal({2, 2, 4}, {3, 2, 4}, {3, 2, 4}, {.scale = 1e39}),
            "posenc: attention: scale must be finite, got 1e+39");
  EXPECT_EQ(message_of([&] {
              detail::checked_arguments<float>("attention", alibi(3), {2, 2, 4}, {3, 2, 4},
                                               {3, 2, 4}, attention_options());
            }),
            "posenc: attention: the encoding must have 2 heads, got 3");
}

}  // namespace
