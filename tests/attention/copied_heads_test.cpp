#include "posenc/attention/copied_heads.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "posenc/core/storage.hpp"

namespace {

using namespace posenc;

TEST(copied_heads, are_dense_and_in_the_type_that_is_computed_with) {
  std::vector<bfloat16> numbers;  // [heads][tokens][dim]
  for (int i = 0; i < 12; ++i) numbers.push_back(bfloat16(static_cast<float>(i)));
  heads_view<bfloat16 const> const x(numbers.data(), {.tokens = 3, .heads = 2, .head_dim = 2},
                                     {.token = 2, .head = 6});
  std::vector<float> copy(99);
  auto const view = detail::copied<float>(copy, x);
  EXPECT_EQ(copy, (std::vector<float>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
  EXPECT_EQ(view.data(), copy.data());
  EXPECT_EQ(view(2, 1)[0], 10);
}

TEST(copied_heads, are_not_made_of_what_can_be_computed_with) {
  std::vector<float> const numbers{1, 2, 3, 4};
  heads_view<float const> const x(numbers.data(), {.tokens = 2, .heads = 1, .head_dim = 2});
  std::vector<float> copy;
  EXPECT_EQ(detail::as_computed(copy, x).data(), numbers.data());
  EXPECT_TRUE(copy.empty());
  std::vector<half> const halves(4);
  std::vector<float> widened;
  heads_view<half const> const y(halves.data(), x.shape());
  auto const wide = detail::as_computed(widened, y);
  ASSERT_EQ(widened.size(), 4u);
  EXPECT_EQ(wide.data(), widened.data());
}

}  // namespace
