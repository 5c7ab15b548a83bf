// Bytes in registers, against plain loops: exact.
#include "posenc/simd/codes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "numbers.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

namespace codes {
namespace {

using posenc::detail::lanes;
using posenc::detail::one_lane;

constexpr std::size_t at_once = 4 * lanes<float>::size;  // numbers that are written together

std::vector<std::byte> all_bytes() {
  std::vector<std::byte> bytes(256 + 2 * at_once);  // and some again
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 167);
  return bytes;
}
int as_signed(std::byte b) { return static_cast<std::int8_t>(b); }
int as_unsigned(std::byte b) { return static_cast<std::uint8_t>(b); }

// test(Lanes()) for a register, each narrower one, and one number.
void in_every_width(auto const& test) {
  auto const of = [&]<class Lanes>(auto const& next, Lanes) {
    SCOPED_TRACE(Lanes::size);
    test(Lanes());
    if constexpr (requires { typename Lanes::narrower; }) next(next, typename Lanes::narrower());
  };
  of(of, lanes<float>());
  of(of, one_lane<float>());
}

// All results of f, called with registers of x, and with each number of x.
template <class Result>
std::array<std::vector<Result>, 2> in_registers_and_alone(std::vector<float> x, auto const& f) {
  std::array<std::vector<Result>, 2> all;
  x.resize((x.size() + lanes<float>::size - 1) / lanes<float>::size * lanes<float>::size);
  for (std::size_t i = 0; i < x.size(); i += lanes<float>::size) {
    auto const found = f(lanes<float>::load(&x[i]));
    static_assert(sizeof found == lanes<float>::size * sizeof(Result));
    all[0].resize(i + lanes<float>::size);
    std::memcpy(&all[0][i], &found, sizeof found);
  }
  for (auto const number : x) all[1].push_back(static_cast<Result>(f(number)));
  return all;
}

TEST(codes, are_the_low_bytes_of_what_is_written_and_of_no_more) {
  auto const from = numbers::random<float>(2 * at_once + 3);
  for (std::size_t count = 0; count <= from.size(); ++count) {
    std::vector<std::byte> to(count + 2, std::byte{0x5a});
    posenc::detail::write_codes(std::span(from).first(count), to.data() + 1, [](auto const& x) {
      return posenc::detail::nearest(posenc::detail::product(x, 2'000'000.0f));
    });
    EXPECT_EQ(to.front(), std::byte{0x5a});
    EXPECT_EQ(to.back(), std::byte{0x5a}) << count;
    for (std::size_t i = 0; i < count; ++i) {
      auto const integer = static_cast<std::int32_t>(std::nearbyint(from[i] * 2'000'000.0f));
      EXPECT_EQ(to[i + 1], static_cast<std::byte>(integer & 0xff)) << i << " of " << count;
    }
  }
}

TEST(codes, are_read_as_integers_and_no_more_is_written) {
  auto const from = all_bytes();
  for (std::size_t count = 0; count <= from.size(); ++count) {
    std::vector<float> of_signed(count + 1, 9.0f), of_unsigned(of_signed);
    posenc::detail::read_codes<std::int8_t>(
        from.data(), std::span(of_signed).first(count),
        [](auto const& x) { return posenc::detail::float_of(x); });
    posenc::detail::read_codes(from.data(), std::span(of_unsigned).first(count),
                               [](auto const& x) { return posenc::detail::float_of(x); });
    EXPECT_EQ(of_signed.back(), 9.0f);
    EXPECT_EQ(of_unsigned.back(), 9.0f);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(of_signed[i], static_cast<float>(as_signed(from[i]))) << i << " of " << count;
      ASSERT_EQ(of_unsigned[i], static_cast<float>(as_unsigned(from[i]))) << i << " of " << count;
    }
    posenc::detail::read_signed(from.data(), std::span(of_signed).first(count), 0.5f);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(of_signed[i], 0.5f * static_cast<float>(as_signed(from[i])));
  }
}

TEST(codes, of_integers_load_as_numbers) {
  auto const from = all_bytes();
  in_every_width([&]<class Lanes>(Lanes) {
    for (std::size_t i = 0; i < 256; ++i) {
      std::array<float, Lanes::size> of_signed, of_unsigned;
      Lanes::store(of_signed.data(), posenc::detail::integers<std::int8_t, Lanes>(&from[i]));
      Lanes::store(of_unsigned.data(), posenc::detail::integers<std::uint8_t, Lanes>(&from[i]));
      for (std::size_t j = 0; j < Lanes::size; ++j) {
        ASSERT_EQ(of_signed[j], static_cast<float>(as_signed(from[i + j])));
        ASSERT_EQ(of_unsigned[j], static_cast<float>(as_unsigned(from[i + j])));
      }
    }
  });
}

TEST(codes, of_a_half_are_in_every_lane) {
  in_every_width([&]<class Lanes>(Lanes) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      if ((bits & 0x7fff) >= 0x7c00) continue;  // infinity and NaN
      std::array<std::byte, 3> at;
      auto const stored = static_cast<std::uint16_t>(bits);
      std::memcpy(at.data() + 1, &stored, 2);
      std::array<float, Lanes::size> found;
      Lanes::store(found.data(), posenc::detail::half_everywhere<Lanes>(at.data() + 1));
      for (auto const x : found)
        ASSERT_EQ(x, static_cast<float>(posenc::half::from_bits(stored))) << bits;
    }
  });
}

// Ties, their neighbours, and others, of both signs, below 2^22 / 2^13 = 512.
std::vector<float> to_round() {
  auto all = numbers::random<float>(512);
  for (auto& x : all) x *= 511;
  for (int n = -510; n <= 510; ++n) {
    auto const tie = static_cast<float>(n) + 0.5f;
    for (auto const x :
         {tie - 0.5f, tie, std::nextafter(tie, 600.0f), std::nextafter(tie, -600.0f)})
      all.push_back(x);
  }
  return all;
}

/// In double, where the sum is exact: roundf of some C libraries takes a number just below 1/2
/// for 1.
std::int32_t rounded_away(float x) {
  return static_cast<std::int32_t>(
      std::copysign(std::floor(std::abs(static_cast<double>(x)) + 0.5), x));
}

TEST(codes, round_to_the_nearest_integer_and_towards_zero) {
  auto x = to_round();
  auto const even = in_registers_and_alone<std::int32_t>(
      x, [](auto const& y) { return posenc::detail::nearest(y); });
  auto const away = in_registers_and_alone<std::int32_t>(
      x, [](auto const& y) { return posenc::detail::nearest_away(y); });
  auto const to_zero = in_registers_and_alone<std::int32_t>(
      x, [](auto const& y) { return posenc::detail::truncated_to_integer(y); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t alone = 0; alone < 2; ++alone) {
      EXPECT_EQ(even[alone][i] - posenc::detail::nearest_of_0,
                static_cast<std::int32_t>(std::nearbyint(x[i])))
          << x[i] << ' ' << alone;
      EXPECT_EQ(away[alone][i], rounded_away(x[i])) << x[i];
      EXPECT_EQ(to_zero[alone][i], static_cast<std::int32_t>(x[i])) << x[i];
    }
  }
}

TEST(codes, are_compared_and_limited) {
  using posenc::detail::nearest;
  auto const x = to_round();
  auto const of = [](auto const& y) {  // an integer from 0 to 1023
    using number = std::remove_cvref_t<decltype(y)>;
    using u32 = typename posenc::detail::code_bits<number>::bits;
    return u32(nearest(y)) - u32(static_cast<std::uint32_t>(posenc::detail::nearest_of_0 - 512));
  };
  auto const integers = in_registers_and_alone<std::uint32_t>(x, of);
  auto const below = in_registers_and_alone<std::uint32_t>(x, [&](auto const& y) {
    using u32 = decltype(of(y));
    return posenc::detail::where_below(of(y), u32(500u), u32(7u), u32(9u));
  });
  auto const least = in_registers_and_alone<std::uint32_t>(
      x, [&](auto const& y) { return posenc::detail::less_of(of(y), decltype(of(y))(500u)); });
  auto const most = in_registers_and_alone<std::uint32_t>(
      x, [&](auto const& y) { return posenc::detail::more_of(of(y), decltype(of(y))(500u)); });
  auto const limited = in_registers_and_alone<std::int32_t>(
      x, [&](auto const& y) { return posenc::detail::limited(of(y), 300, 500); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const n = integers[1][i];
    for (std::size_t alone = 0; alone < 2; ++alone) {
      EXPECT_EQ(below[alone][i], n < 500 ? 7 : 9) << n;
      EXPECT_EQ(least[alone][i], std::min(n, 500u)) << n;
      EXPECT_EQ(most[alone][i], std::max(n, 500u)) << n;
      EXPECT_EQ(limited[alone][i], std::clamp(static_cast<std::int32_t>(n), 300, 500)) << n;
    }
  }
}

}  // namespace
}  // namespace codes
