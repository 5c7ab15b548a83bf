#include "posenc/rotation/rotate_apart.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "numbers.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/rotation/token_heads.hpp"
#include "posenc/simd/lanes.hpp"

namespace {

using namespace posenc;

// One group of interleaved pairs, in each way.
template <class Group, class T>
std::vector<T> rotated(std::vector<T> pairs) {
  auto const cos = numbers::random<T>(Group::pairs, 2), sin = numbers::random<T>(Group::pairs, 3);
  Group group;
  typename Group::numbers numbers;
  group.load(cos.data(), sin.data());
  detail::cursor<T, T, false> const at{pairs.data(), pairs.data()};
  Group::begin(at, 0, Group::pairs, numbers);
  group.kept().finish(at, 0, Group::pairs, numbers);
  group.write(at, 0, Group::pairs, numbers);
  return pairs;
}

template <class T>
void expect_same_bits() {
  using lanes = detail::lanes<T>;
  if constexpr (lanes::size > 1) {
    using apart = detail::rotate_apart<lanes, lanes>;
    if constexpr (apart::available) {
      auto const pairs = numbers::random<T>(2 * apart::pairs);
      EXPECT_TRUE(numbers::same_bits(rotated<apart>(pairs),
                                     rotated<detail::rotate_side_by_side<lanes, lanes>>(pairs)));
      return;
    }
  }
  GTEST_SKIP() << "no such instructions on this platform";
}

TEST(rotate_apart, has_the_bits_of_side_by_side_in_float) { expect_same_bits<float>(); }
TEST(rotate_apart, has_the_bits_of_side_by_side_in_double) { expect_same_bits<double>(); }

TEST(wide_rotation, is_apart_of_interleaved_floats_alone) {
  using detail::wide_rotation, detail::fastest_rotation;
  static_assert(std::is_same_v<wide_rotation<halves, halves, float, float>::type,
                               fastest_rotation<halves, halves, float, float>::type>);
  static_assert(std::is_same_v<wide_rotation<interleaved, interleaved, half, half>::type,
                               fastest_rotation<interleaved, interleaved, half, half>::type>);
#if defined(__x86_64__) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
  using lanes = detail::lanes<float>;
  static_assert(std::is_same_v<wide_rotation<interleaved, interleaved, float, float>::type,
                               detail::rotate_apart<lanes, lanes>>);
#endif
}

}  // namespace
