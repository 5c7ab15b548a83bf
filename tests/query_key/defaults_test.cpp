/// Every default of site 2 against its value written out, and m_rope's text at the ends of int64.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "numbers.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/xpos.hpp"
#include "rejects.hpp"
#include "site_2.hpp"

namespace {

using namespace posenc;

std::vector<std::vector<std::int64_t>> const one_axis{{0}};

std::vector<float> encoded(auto const& encoding, std::vector<std::int64_t> const& positions) {
  auto x = numbers::random<float>(positions.size() * 10);
  site_2::encode_keys(encoding, numbers::view(x, positions.size(), 10), positions);
  return x;
}

/// A layout is never silent: no encoding has one that was not written.
// clang-format off
template <class F>
concept takes_a_silent_layout =
    requires(F const& f) { rope(f); } || requires(F const& f) { xpos(f); } ||
    requires(F const& f) { p_rope(f.rotary_dim(), 1e4, 1); } ||
    requires(F const& f) { m_rope(f, pair_axes({0}), axis_positions(1, std::vector{0}), std::int64_t{0}); };
// clang-format on
static_assert(!takes_a_silent_layout<frequencies>);

TEST(query_key_defaults, are_what_is_documented) {
  auto const f = geometric(8, 1e4);
  std::vector<std::int64_t> const at{3, 700};
  auto const first = rotary_block::first();
  static_assert(std::is_same_v<m_rope<halves>, m_rope<halves, std::int64_t>>);
  EXPECT_TRUE(
      numbers::same_bits(encoded(rope<halves>(f), at), encoded(rope<halves>(f, first), at)));
  EXPECT_TRUE(numbers::same_bits(
      encoded(xpos<halves>(f), at),
      encoded(xpos<halves>(f, {.gamma = 0.4, .scale_base = 512, .center = 0}, first), at)));
  pair_axes const axes({0, 1, 0, 1});
  axis_positions<> const grid({{0, 1}, {0, 5}});
  EXPECT_TRUE(numbers::same_bits(encoded(m_rope<halves>(f, axes, grid, 4), {0, 1, 2}),
                                 encoded(m_rope<halves>(f, axes, grid, 4, first), {0, 1, 2})));
}

TEST(query_key_defaults, smallest_sizes_are_taken) {
  std::vector<float> x{1, 2};
  std::vector<std::int64_t> const at{1};
  site_2::encode_queries(rope<halves>(geometric(2, 1e4)), numbers::view(x, 1, 2), at);
  site_2::encode_queries(xpos<halves>(geometric(2, 1e4)), numbers::view(x, 1, 2), at);
  site_2::encode_queries(
      m_rope<halves>(geometric(2, 1e4), pair_axes({0}), axis_positions<>(one_axis), 0),
      numbers::view(x, 1, 2), at);
  EXPECT_TRUE(is_finite(static_cast<double>(x[0])));
}

TEST(m_rope, text_stands_up_to_the_last_position_and_no_farther) {
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  auto const of_delta = [](std::int64_t delta, std::int64_t index) {
    encoded(m_rope<halves>(geometric(8, 1e4), pair_axes({0, 0, 0, 0}), axis_positions<>(one_axis),
                           delta),
            {index});
  };
  EXPECT_NO_THROW(of_delta(0, last));
  EXPECT_NO_THROW(of_delta(-1, last));
  EXPECT_NO_THROW(of_delta(1, last - 1));
  EXPECT_NO_THROW(encoded(
      m_rope<halves>(geometric(8, 1e4), pair_axes({0, 0, 0, 0}), axis_positions<>({{0, 5}}), last),
      {1}))
      << "of the prompt: no delta is added";
  EXPECT_NE(message_of([&] { of_delta(1, last); }).find("must fit int64"), std::string::npos);
  EXPECT_NE(message_of([&] { of_delta(2, last - 1); }).find("must fit int64"), std::string::npos);
}

}  // namespace
