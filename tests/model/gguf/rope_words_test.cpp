#include "posenc/model/gguf/rope_words.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "posenc/frequency/frequencies.hpp"

namespace {

using namespace posenc;
using list = std::vector<double>;

rotary_description with(std::vector<model_setting> parameters) {
  rotary_description rotary{
      .rule = "longrope", .frequencies = frequencies(std::vector<double>{1}), .layout = halves()};
  rotary.parameters = std::move(parameters);
  return rotary;
}

TEST(rope_words, are_the_numbers_of_a_parameter) {
  auto const rotary = with({{"factor", "8.5"}, {"short_factor", "[1, 1.25, 2e3]"}});
  detail::rope_words const words(rotary);
  EXPECT_EQ(words.number("factor"), 8.5);
  EXPECT_EQ(words.numbers("factor"), list{8.5});
  EXPECT_EQ(words.numbers("short_factor"), (list{1, 1.25, 2000}));
}

TEST(rope_words, are_none_of_a_parameter_that_is_not_there_nor_one_of_a_list) {
  auto const rotary = with({{"short_factor", "[1, 2]"}, {"list", "[]"}});
  detail::rope_words const words(rotary);
  EXPECT_EQ(words.number("short_factor"), std::nullopt);
  EXPECT_EQ(words.number("long_factor"), std::nullopt);
  EXPECT_EQ(words.numbers("long_factor"), std::nullopt);
  EXPECT_EQ(words.numbers("list"), list());
}

}  // namespace
