#include "posenc/rows/pair_axes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "rejects.hpp"

namespace {

using namespace posenc;
using sections = std::vector<std::size_t>;

// One letter per pair, as papers draw it.
std::string drawn(pair_axes const& axes) {
  std::string letters;
  for (std::size_t pair = 0; pair < axes.pairs(); ++pair) letters += "thwe"[axes.axis(pair)];
  return letters;
}

std::string repeated(std::string const& part, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += part;
  return result;
}

// Qwen3-VL's rule: t everywhere, then h at 1, 4, 7 ... below 3 h, then w at 2, 5, 8 ... below 3 w.
// [modeling_qwen3_vl.py]
std::string slices(sections const& s) {
  std::string letters(s[0] + s[1] + s[2], 't');
  for (std::size_t i = 1; i < std::min(3 * s[1], letters.size()); i += 3) letters[i] = 'h';
  for (std::size_t i = 2; i < std::min(3 * s[2], letters.size()); i += 3) letters[i] = 'w';
  return letters;
}

TEST(pair_axes, are_those_given) {
  pair_axes const axes({2, 0, 0, 1, 2});
  EXPECT_EQ(axes.pairs(), 5u);
  EXPECT_EQ(axes.axes(), 3u);
  EXPECT_EQ(drawn(axes), "wtthw");
  EXPECT_EQ(pair_axes({0}).axes(), 1u);
  EXPECT_EQ(pair_axes({255, 0}).axes(), 256u) << "an axis that no pair has in between counts";
  EXPECT_EQ(axes, pair_axes({2, 0, 0, 1, 2}));
  EXPECT_NE(axes, pair_axes({2, 0, 0, 1, 1}));
}

TEST(pair_axes, there_must_be_a_pair_and_few_axes) {
  EXPECT_EQ(message_of([] { pair_axes({}); }),
            "posenc: pair_axes: there must be at least one pair, got none");
  EXPECT_EQ(message_of([] {
              pair_axes({0, 256});
            }),
            "posenc: pair_axes: an axis must be below 256, got 256");
  EXPECT_EQ(message_of([] { contiguous_axes(sections{}); }),
            "posenc: pair_axes: there must be at least one pair, got none");
  EXPECT_EQ(message_of([] {
              contiguous_axes(sections{0, 0});
            }),
            "posenc: pair_axes: there must be at least one pair, got none");
}

TEST(contiguous_axes, are_sections_one_after_another) {
  EXPECT_EQ(drawn(contiguous_axes(sections{2, 3, 1})), "tthhhw");
  EXPECT_EQ(drawn(contiguous_axes(sections{16, 24, 24})),
            std::string(16, 't') + std::string(24, 'h') + std::string(24, 'w'))
      << "Qwen2-VL";
  EXPECT_EQ(
      drawn(contiguous_axes(sections{16, 16, 16, 16})),
      std::string(16, 't') + std::string(16, 'h') + std::string(16, 'w') + std::string(16, 'e'))
      << "Hunyuan's four";
  EXPECT_EQ(drawn(contiguous_axes(sections{0, 2})), "hh")
      << "the second half of a head of Gemma 4's vision model";
}

TEST(interleaved_axes, take_turns_as_long_as_sections_last) {
  EXPECT_EQ(drawn(interleaved_axes(sections{24, 20, 20})), repeated("thw", 20) + "tttt")
      << "Qwen3-VL";
  EXPECT_EQ(drawn(interleaved_axes(sections{11, 11, 10})), repeated("thw", 10) + "th") << "Qwen3.5";
  EXPECT_EQ(drawn(interleaved_axes(sections{3, 2, 1})), "thwtht");
}

TEST(interleaved_axes, are_the_slices_that_the_model_takes) {
  for (std::size_t t = 0; t < 9; ++t)
    for (std::size_t h = 0; h < 9; ++h)
      for (std::size_t w = 0; w < 9; ++w) {
        if (t + h + w == 0) continue;
        ASSERT_EQ(drawn(interleaved_axes(sections{t, h, w})), slices({t, h, w}))
            << t << " " << h << " " << w;
      }
}

// ggml's ops.cpp, one pair after another: sector = pair mod the sum of the sections.
TEST(ggml_axes, are_sections_that_start_anew) {
  EXPECT_EQ(drawn(ggml_axes({16, 24, 24, 0}, 64)), drawn(contiguous_axes(sections{16, 24, 24})))
      << "Qwen2-VL";
  EXPECT_EQ(drawn(ggml_axes({1, 2, 3, 1}, 16)), "thhwwwethhwwweth");
  EXPECT_EQ(drawn(ggml_axes({4, 4, 4, 4}, 8)), "tttthhhh")
      << "a vision model's {d/4, d/4, d/4, d/4} for d/2 pairs";
}

TEST(ggml_interleaved_axes, leave_to_the_fourth_axis_what_hugging_face_leaves_to_time) {
  std::array<std::size_t, 4> const qwen3_vl{24, 20, 20, 0};
  auto const here = drawn(ggml_interleaved_axes(qwen3_vl, 64)),
             there = drawn(interleaved_axes(sections{24, 20, 20}));
  EXPECT_EQ(here, repeated("thw", 20) + "teet");
  std::vector<std::size_t> differing;
  for (std::size_t pair = 0; pair < 64; ++pair)
    if (here[pair] != there[pair]) differing.push_back(pair);
  EXPECT_EQ(differing, (std::vector<std::size_t>{61, 62}));
  EXPECT_EQ(drawn(ggml_interleaved_axes({11, 11, 10, 0}, 32)), repeated("thw", 10) + "th")
      << "Qwen3.5, where both agree";
  EXPECT_EQ(drawn(ggml_interleaved_axes({1, 1, 1, 1}, 8)), "thwethwe") << "they start anew";
  EXPECT_EQ(drawn(ggml_interleaved_axes({1, 2, 1, 2}, 6)),
            "thweh"
            "e")
      << "time may end too";
}

TEST(axial_axes, are_blocks_of_dims) {
  EXPECT_EQ(drawn(axial_axes(sections{2, 4, 6})), "thhwww");
  EXPECT_EQ(axial_axes(sections{16, 56, 56}), contiguous_axes(sections{8, 28, 28}));
  EXPECT_EQ(message_of([] {
              axial_axes(sections{2, 5});
            }),
            "posenc: axial_axes: the dims of an axis must be even, got 5");
}

TEST(pair_axes, their_makers_say_what_they_cannot_take) {
  auto const much = (std::size_t{1} << 24) + 1;
  EXPECT_EQ(message_of([&] {
              contiguous_axes(sections{1, much});
            }),
            "posenc: contiguous_axes: a section must have at most 2^24 pairs, got 16777217");
  EXPECT_EQ(message_of([&] {
              interleaved_axes(sections{1, 1, much});
            }),
            "posenc: interleaved_axes: a section must have at most 2^24 pairs, got 16777217");
  EXPECT_EQ(message_of([] {
              interleaved_axes(sections{1, 1});
            }),
            "posenc: interleaved_axes: there must be three sections, got 2");
  EXPECT_EQ(message_of([] {
              interleaved_axes(sections{1, 1, 1, 1});
            }),
            "posenc: interleaved_axes: there must be three sections, got 4");
  EXPECT_EQ(message_of([] {
              ggml_axes({0, 0, 0, 0}, 4);
            }),
            "posenc: ggml_axes: the sections must not all be 0");
  EXPECT_EQ(message_of([] {
              ggml_interleaved_axes({0, 0, 0, 0}, 4);
            }),
            "posenc: ggml_interleaved_axes: the sections must not all be 0");
  EXPECT_EQ(message_of([] {
              ggml_axes({1, 1, 1, 0}, 0);
            }),
            "posenc: pair_axes: there must be at least one pair, got none");
}

}  // namespace
