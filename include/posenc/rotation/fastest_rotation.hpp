// For every type and layout, the fastest of the ways to rotate a group of pairs.
#pragma once

#include <concepts>
#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate_bfloat16.hpp"
#include "posenc/rotation/rotate_pairs.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The fastest rotation for numbers that are stored as S and written as T.
template <class From, class To, class S, class T>
struct fastest_rotation {
  using type = rotate_pairs<From, To, lanes<S>, lanes<T>>;
};
/// The fastest one for fewer floats or doubles than a register holds, in narrower registers.
template <class From, class To, class Lanes>
using narrow_rotation =
    std::conditional_t<std::same_as<From, interleaved> && std::same_as<To, interleaved>,
                       rotate_side_by_side<Lanes, Lanes>, rotate_pairs<From, To, Lanes, Lanes>>;

template <class T, class S>
concept both_in_order = !lanes<S>::free_deinterleave && !lanes<T>::free_deinterleave;
template <class T, class S>
concept both_free_deinterleave = lanes<S>::free_deinterleave && lanes<T>::free_deinterleave;

// clang-format off

/// The CPU rounds to bfloat16, and tests 32 words at once.
template <class T, class S>
concept both_rounded = both_free_deinterleave<T, S> && lanes<S>::rounds && lanes<T>::rounds &&
                       requires(typename lanes<S>::bits words) {
                         any_tiny(words.data, words.data, words.data);
                       };

/// Type half, in registers of 256 bits: a Zen 4 converts two of them faster than one of 512 bits.
template <class T, class S>
concept both_halved = both_in_order<T, S> && splits_512_bits && lanes<S>::size == 16 &&
                      converted_by_cpu<lanes<S>> && converted_by_cpu<lanes<T>>;

// clang-format on

template <class S, both_in_order<S> T>
struct fastest_rotation<interleaved, interleaved, S, T> {
  using type = rotate_side_by_side<lanes<S>, lanes<T>>;
};
template <class S, both_free_deinterleave<S> T>
struct fastest_rotation<halves, halves, S, T> {
  using type = rotate_even_and_odd<lanes<S>, lanes<T>>;
};
#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
template <class S, both_halved<S> T>
struct fastest_rotation<halves, halves, S, T> {
  using type = rotate_pairs<halves, halves, narrow_half_lanes<S, 8>, narrow_half_lanes<T, 8>>;
};
template <class S, both_halved<S> T>
struct fastest_rotation<interleaved, interleaved, S, T> {
  using type = rotate_side_by_side<narrow_half_lanes<S, 8>, narrow_half_lanes<T, 8>>;
};
template <class Layout, class S, both_rounded<S> T>
struct fastest_rotation<Layout, Layout, S, T> {
  using type = rotate_bfloat16<Layout, lanes<S>, lanes<T>>;
};
template <class S, both_rounded<S> T>
struct fastest_rotation<halves, halves, S, T> {
  using type = rotate_bfloat16<halves, lanes<S>, lanes<T>>;
};
#endif

}  // namespace posenc::detail
