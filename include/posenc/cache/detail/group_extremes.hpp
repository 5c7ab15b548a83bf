// The largest magnitude, or the range, of each group of numbers that shares a scale. Several groups
// are taken at once: they share the last comparisons within a register, and the divisions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/simd/codes.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/quotient.hpp"
#include "posenc/simd/registers.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Some groups of `size` numbers each, at most as many groups as a register has numbers.
struct number_groups {
  float const* first;
  std::ptrdiff_t stride;  ///< from one to the next
  std::size_t size, count;
  static constexpr std::size_t most = code_lanes::size;  ///< groups
};
/// The heads that are encoded next, each a group.
inline number_groups next_heads(heads_to_encode const& heads) noexcept {
  return {heads.numbers, heads.stride, heads.head_dim, std::min(heads.count, number_groups::most)};
}

/// One number per group, in a register; where the CPU has none, of one group.
using group_numbers = code_lanes::number;
/// The same in memory.
template <class T = float>
struct stored_groups {
  T lanes[number_groups::most];
  std::size_t step;  ///< lanes from group to group

  stored_groups(group_numbers const& x, std::size_t lane_step) noexcept : step(lane_step) {
    posenc::detail::lanes<T>::store(lanes, x);
  }
  T const& operator[](std::size_t i) const noexcept { return lanes[i * step]; }
};

#if !defined(POSENC_NO_REGISTERS)
/// Lane 2 i: the greater of lanes i and i + size / 2 of x. Lane 2 i + 1: the greater of such lanes
/// of y.
template <class Arch, class Batch = vectors::batch<float, Arch>>
requires requires(Batch x) { zip(x.data, x.data); }
POSENC_ALWAYS_INLINE inline auto zipped(vectors::batch<std::int32_t, Arch> const& x,
                                        vectors::batch<std::int32_t, Arch> const& y) noexcept {
  Batch a = bits_as<float>(x), b = bits_as<float>(y);
  zip(a.data, b.data);
  return greater(bits_as<std::int32_t>(a), bits_as<std::int32_t>(b));
}
#endif

/// The greatest, in each group, of the integers that are made of the bits of its numbers. Kinds
/// integers are made of a number, and each kind has its greatest.
template <std::size_t Kinds>
struct greatest_of {
  using integers = decltype(bits_as<std::int32_t>(group_numbers()));
  integers kind[Kinds];  ///< the greatest of each kind, one per group
  std::size_t step;      ///< group i has lane i * step

  /// make(bits): an array of Kinds integers, or of registers of them.
  POSENC_ALWAYS_INLINE greatest_of(number_groups const& groups, auto const& make) noexcept {
    constexpr auto most = number_groups::most;
    if (groups.count == 1) {
      find<1>(groups, make);
    } else if (groups.count <= most / 2) {
      find<std::max<std::size_t>(most / 2, 1)>(groups, make);
    } else {
      find<most>(groups, make);
    }
  }

 private:
  template <std::size_t Count>
  POSENC_ALWAYS_INLINE void find(number_groups const& groups, auto const& make) noexcept {
    constexpr auto size = code_lanes::size;
    auto const whole = groups.size / size * size, rest = groups.size - whole;
    integers each[Kinds][Count];
    auto const* x = groups.first;
    for (std::size_t i = 0; i < groups.count; ++i, x += groups.stride) {
      integers found[Kinds];
      for (auto& of : found) of = integers(-0x7fff'ffff - 1);
      auto const take = [&](float const* from) POSENC_INLINED {
        auto const made = make(bits_as<std::int32_t>(code_lanes::load(from)));
        for (std::size_t k = 0; k < Kinds; ++k) found[k] = greater(found[k], made[k]);
      };
      for (std::size_t j = 0; j < whole; j += size) take(x + j);
      if (rest != 0) {
        float padded[size];
        std::fill_n(std::copy_n(x + whole, rest, padded), size - rest, x[whole]);
        take(padded);
      }
      for (std::size_t k = 0; k < Kinds; ++k) each[k][i] = found[k];
    }
    step = size / Count;
    for (std::size_t k = 0; k < Kinds; ++k) {
      for (auto i = groups.count; i < Count; ++i) each[k][i] = each[k][0];
      fold<Count>(each[k]);
      kind[k] = each[k][0];
    }
  }

  // Reduces Count registers to x[0]: lane i * step is the greatest lane of register i.
  template <std::size_t Count, class Integers>
  POSENC_ALWAYS_INLINE static void fold(Integers* x) noexcept {
    constexpr auto size = code_lanes::size;
    if constexpr (size == 1) {
      return;
    } else if constexpr (requires { zipped(*x, *x); }) {
      fold_two<Count>(x);
      unrolled<std::bit_width(size / Count) - 1>([&](std::size_t)
                                                     POSENC_INLINED { x[0] = zipped(x[0], x[0]); });
    } else {
      std::int32_t lanes[size], all[size];
      for (std::size_t i = 0; i < Count; ++i) {
        x[i].store_unaligned(lanes);
        std::fill_n(all + i * (size / Count), size / Count, *std::max_element(lanes, lanes + size));
      }
      x[0] = Integers::load_unaligned(all);
    }
  }
  template <std::size_t Left, class Integers>
  POSENC_ALWAYS_INLINE static void fold_two(Integers* x) noexcept {
    if constexpr (Left > 1) {
      unrolled<Left / 2>([&](std::size_t i)
                             POSENC_INLINED { x[i] = zipped(x[i], x[i + Left / 2]); });
      fold_two<Left / 2>(x);
    }
  }
};

/// The largest magnitude of each group, compared as integers: NaN is larger than infinity.
struct largest_magnitudes {
  group_numbers most;
  std::size_t step;

  POSENC_ALWAYS_INLINE explicit largest_magnitudes(number_groups const& groups) noexcept {
    auto const magnitude = [](auto const& bits) POSENC_INLINED {
      return std::array{bits & std::remove_cvref_t<decltype(bits)>(0x7fff'ffff)};
    };
    greatest_of<1> const found(groups, magnitude);
    most = bits_as<float>(found.kind[0]);
    step = found.step;
  }
};
/// The largest magnitude of one group.
POSENC_ALWAYS_INLINE inline float largest_magnitude(std::span<float const> x) noexcept {
  largest_magnitudes const found({x.data(), 0, x.size(), 1});
  return stored_groups<>(found.most, found.step)[0];
}

/// The least and the greatest number of each group. They are compared as integers that have the
/// order of floats, where NaN is beyond infinity.
struct group_ranges {
  group_numbers least, most;
  std::size_t step;

  POSENC_ALWAYS_INLINE explicit group_ranges(number_groups const& groups) noexcept {
    auto const both = [&]<class Bits>(Bits const& bits) POSENC_INLINED {
      auto const place = ordered(bits);
      return std::array{place, Bits(~place)};  // ~ turns the order round
    };
    greatest_of<2> const found(groups, both);
    most = bits_as<float>(ordered(found.kind[0]));
    step = found.step;
    least = bits_as<float>(ordered(decltype(found.kind[0])(~found.kind[1])));
  }
};

}}}  // namespace posenc::detail

POSENC_QUIET_END
