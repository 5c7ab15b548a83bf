#include "posenc/rows/axis_position_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "non_numbers.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using builder = axis_position_builder<>;

template <class P>
std::vector<std::vector<P>> of(axis_position_builder<P> const& built) {
  std::vector<std::vector<P>> result;
  auto const positions = built.positions();
  for (std::size_t axis = 0; axis < positions.axes(); ++axis)
    result.emplace_back(positions.of(axis).begin(), positions.of(axis).end());
  return result;
}

using integers = std::vector<std::vector<std::int64_t>>;
using fractions = std::vector<std::vector<double>>;

TEST(axis_position_builder, text_has_the_same_position_on_all_axes) {
  EXPECT_EQ(of(builder().text(3).text(0).text(2)),
            (integers{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}));
  EXPECT_EQ(builder().text(5).rope_delta(), 0);
  EXPECT_EQ(of(builder()), (integers{{}, {}, {}}));
  EXPECT_EQ(builder().rope_delta(), 0);
  EXPECT_EQ(builder().next(), 0);
}

// The example of transformers' get_rope_index: a video of 3 frames of 2 x 2 tokens, then five text
// tokens.
TEST(axis_position_builder, builds_the_example_of_qwen2_vl) {
  auto const built = builder().video(3, 2, 2).text(5);
  EXPECT_EQ(of(built), (integers{{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7},
                                 {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 4, 5, 6, 7},
                                 {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(built.tokens(), 17u);
  EXPECT_EQ(built.next(), 8);
  EXPECT_EQ(built.rope_delta(), 8 - 17);
}

// The example of Qwen2.5-VL: 25 tokens per second, one frame per second, two frames merged into
// one.
TEST(axis_position_builder, builds_the_example_of_qwen2_5_vl) {
  auto const built = builder().video(3, 2, 2, 25 * 2).text(2);
  EXPECT_EQ(of(built)[0],
            (std::vector<std::int64_t>{0, 0, 0, 0, 50, 50, 50, 50, 100, 100, 100, 100, 101, 102}));
  EXPECT_EQ(of(built)[1],
            (std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 101, 102}));
}

TEST(axis_position_builder, an_image_goes_on_from_the_text_before) {
  auto const built = builder().text(2).image(2, 3).text(1);
  EXPECT_EQ(of(built), (integers{{0, 1, 2, 2, 2, 2, 2, 2, 5},
                                 {0, 1, 2, 2, 2, 3, 3, 3, 5},
                                 {0, 1, 2, 3, 4, 2, 3, 4, 5}}));
  EXPECT_EQ(built.rope_delta(), 6 - 9);
  EXPECT_EQ(of(builder().text(2).image(3, 2).image(1, 1)), (integers{{0, 1, 2, 2, 2, 2, 2, 2, 5},
                                                                     {0, 1, 2, 2, 3, 3, 4, 4, 5},
                                                                     {0, 1, 2, 3, 2, 3, 2, 3, 5}}));
}

TEST(axis_position_builder, time_is_cut_to_integers_frame_by_frame) {
  auto const built = builder().text(1).video(5, 1, 1, 0.75);
  EXPECT_EQ(of(built), (integers{{0, 1, 1, 2, 3, 4}, {0, 1, 1, 1, 1, 1}, {0, 1, 1, 1, 1, 1}}));
  EXPECT_EQ(built.next(), 5);
  EXPECT_EQ(of(builder().video(50, 1, 1, 1 / 49.0))[0].back(), 0)
      << "49 * (1/49) is below 1 in double";
}

TEST(axis_position_builder, time_is_fractional_where_positions_are) {
  auto const built = axis_position_builder<double>().text(1).video(3, 1, 2, 0.75).text(1);
  EXPECT_EQ(of(built), (fractions{{0, 1, 1, 1.75, 1.75, 2.5, 2.5, 3.5},
                                  {0, 1, 1, 1, 1, 1, 1, 3.5},
                                  {0, 1, 2, 1, 2, 1, 2, 3.5}}));
  EXPECT_EQ(built.next(), 4.5);
  EXPECT_EQ(built.rope_delta(), 4.5 - 8);
}

TEST(axis_position_builder, may_go_on_by_the_longest_side) {
  builder built(after_longest_side);
  built.text(1).video(4, 2, 1);
  EXPECT_EQ(built.next(), 3);
  EXPECT_EQ(built.rope_delta(), 5 - 9)
      << "what is generated at once is beyond the last frame, at 4";
  built.text(1);
  EXPECT_EQ(of(built), (integers{{0, 1, 1, 2, 2, 3, 3, 4, 4, 3},
                                 {0, 1, 2, 1, 2, 1, 2, 1, 2, 3},
                                 {0, 1, 1, 1, 1, 1, 1, 1, 1, 3}}));
  EXPECT_EQ(built.next(), 4);
  EXPECT_EQ(built.rope_delta(), 5 - 10);
  EXPECT_EQ(built.text(9).rope_delta(), 13 - 19);
}

TEST(axis_position_builder, goes_on_alike_by_both_rules_after_an_image_and_a_short_video) {
  for (std::size_t h = 1; h < 5; ++h)
    for (std::size_t w = 1; w < 5; ++w)
      for (std::size_t t = 1; t <= std::max(h, w); ++t) {
        auto const a = builder().text(3).image(h, w).video(t, h, w).text(2),
                   b = builder(after_longest_side).text(3).image(h, w).video(t, h, w).text(2);
        EXPECT_EQ(of(a), of(b));
        EXPECT_EQ(a.rope_delta(), b.rope_delta());
        EXPECT_EQ(a.rope_delta(), a.next() - static_cast<std::int64_t>(a.tokens()));
      }
}

TEST(axis_position_builder, takes_a_rule_of_ones_own) {
  builder built(
      [](std::int64_t start, std::int64_t, std::size_t, std::size_t) { return start + 1; });
  EXPECT_EQ(of(built.image(1, 3).text(1))[2], (std::vector<std::int64_t>{0, 1, 2, 1}));
}

TEST(axis_position_builder, refuses_what_no_grid_is_and_stays_as_it_was) {
  auto built = builder().text(2);
  auto const message = [&](auto&& part) {
    auto const before = of(built);
    auto const result = message_of([&] { part(built); });
    EXPECT_EQ(of(built), before);
    EXPECT_EQ(built.next(), 2);
    return result;
  };
  EXPECT_EQ(message([](auto& b) { b.image(0, 3); }),
            "posenc: axis_position_builder: image must have at least one token, got 1 x 0 x 3");
  EXPECT_EQ(message([](auto& b) { b.image(3, 0); }),
            "posenc: axis_position_builder: image must have at least one token, got 1 x 3 x 0");
  EXPECT_EQ(message([](auto& b) { b.video(0, 3, 3); }),
            "posenc: axis_position_builder: video must have at least one token, got 0 x 3 x 3");
  EXPECT_EQ(
      message([](auto& b) { b.image(65536, 65537); }),
      "posenc: axis_position_builder: image must have at most 2^32 tokens, got 1 x 65536 x 65537");
  EXPECT_EQ(message([](auto& b) { b.image(std::size_t{1} << 32, std::size_t{1} << 32); }),
            "posenc: axis_position_builder: image must have at most 2^32 tokens, got 1 x "
            "4294967296 x 4294967296");
  EXPECT_EQ(
      message([](auto& b) { b.video(std::numeric_limits<std::size_t>::max(), 65536, 65536); }),
      "posenc: axis_position_builder: video must have at most 2^32 tokens, got "
      "18446744073709551615 x 65536 x 65536");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, -0.5); }),
            "posenc: axis_position_builder: step must be finite and not negative, got -0.5");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, not_a_number()); }),
            "posenc: axis_position_builder: step must be finite and not negative, got NaN");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, infinity()); }),
            "posenc: axis_position_builder: step must be finite and not negative, got infinity");
  EXPECT_EQ(message([](auto& b) { b.video(2, 1, 1, 0x1p53); }),
            "posenc: axis_position_builder: positions must stay below 2^53, got video of "
            "9007199254740992 positions from 2 on");
  EXPECT_EQ(message([](auto& b) { b.text(std::numeric_limits<std::size_t>::max()); }),
            "posenc: axis_position_builder: positions must stay below 2^53, got text of "
            "18446744073709551616 positions from 2 on");
}

}  // namespace
