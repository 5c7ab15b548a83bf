#include "posenc/core/require.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "non_numbers.hpp"
#include "rejects.hpp"

namespace {

TEST(is_finite, tells_by_the_exponent_alone) {
  for (std::uint64_t exponent = 0; exponent < 4096; ++exponent) {  // with the sign above it
    for (std::uint64_t const fraction : {0ull, 1ull, 1ull << 51, (1ull << 52) - 1}) {
      auto const bits = exponent << 52 | fraction;
      ASSERT_EQ(posenc::is_finite(number_of_bits(bits)), exponent % 2048 != 2047)
          << std::hex << bits;
    }
  }
}

TEST(is_finite, holds_of_floats_too) {
  EXPECT_TRUE(posenc::is_finite(float_of_bits(0x7f7f'ffff)));
  EXPECT_FALSE(posenc::is_finite(float_of_bits(0x7f80'0000)));
  EXPECT_FALSE(posenc::is_finite(float_of_bits(0xff80'0000)));
  EXPECT_FALSE(posenc::is_finite(float_of_bits(0x7fc0'0000)));
}

TEST(is_finite, is_known_at_compile_time) {
  static_assert(posenc::is_finite(std::numeric_limits<double>::max()));
}

TEST(require, does_nothing_where_it_holds) {
  EXPECT_NO_THROW(posenc::detail::require(true, "never shown, got ", 1));
  static_assert((posenc::detail::require(true, "nor here"), true));
}

std::string shown(auto const& given) {
  return message_of([&] { posenc::detail::require(false, "x must hold, got ", given); });
}

TEST(require, says_what_must_hold_and_what_was_given) {
  EXPECT_EQ(shown("text"), "posenc: x must hold, got text");
  EXPECT_EQ(shown(std::size_t{7}), "posenc: x must hold, got 7");
  EXPECT_EQ(message_of([] { posenc::detail::require(false, 1, " and ", -2.5, " of ", 3u); }),
            "posenc: 1 and -2.5 of 3");
}

TEST(require, shows_integers_to_the_last_digit) {
  EXPECT_EQ(shown(std::numeric_limits<std::uint64_t>::max()),
            "posenc: x must hold, got 18446744073709551615");
  EXPECT_EQ(shown(std::numeric_limits<std::int64_t>::min()),
            "posenc: x must hold, got -9223372036854775808");
}

TEST(require, shows_doubles_in_their_shortest_exact_form) {
  for (double const given : {0.1, -0.58, 1e-300, 1.7976931348623157e308, 0x1p64, 1.0 / 3}) {
    auto const text = shown(given).substr(std::string("posenc: x must hold, got ").size());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(std::stod(text)), std::bit_cast<std::uint64_t>(given))
        << text;
  }
  EXPECT_EQ(shown(0.1), "posenc: x must hold, got 0.1");
}

TEST(require, shows_what_is_no_number) {
  EXPECT_EQ(shown(not_a_number()), "posenc: x must hold, got NaN");
  EXPECT_EQ(shown(number_of_bits(0xfff0'0000'0000'0001)), "posenc: x must hold, got NaN");
  EXPECT_EQ(shown(infinity()), "posenc: x must hold, got infinity");
  EXPECT_EQ(shown(minus_infinity()), "posenc: x must hold, got -infinity");
}

TEST(error_context, says_where_an_error_is_unless_that_is_said) {
  auto const refused = [](std::string const& sentence) {
    return message_of([&] { posenc::detail::refuse(sentence); });
  };
  {
    posenc::detail::error_context const file("config.json");
    EXPECT_EQ(refused("x must hold"), "posenc: config.json: x must hold");
    EXPECT_EQ(refused("config.json: key must hold"), "posenc: config.json: key must hold");
    posenc::detail::error_context const object("config.json: rope_scaling");
    EXPECT_EQ(refused("x must hold"), "posenc: config.json: rope_scaling: x must hold");
    EXPECT_EQ(refused("config.json: key must hold"), "posenc: config.json: key must hold");
  }
  EXPECT_EQ(refused("x must hold"), "posenc: x must hold");
}

}  // namespace
