#pragma once

/// A layout as a number, so that a test is compiled once for both; rotation is compiled for each.

#include <cstddef>

#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"

enum class either_layout { halves, interleaved };

inline constexpr either_layout number_of(posenc::halves) { return either_layout::halves; }
inline constexpr either_layout number_of(posenc::interleaved) { return either_layout::interleaved; }

inline oracle::pairing pairing_of(either_layout layout) {
  return layout == either_layout::halves ? oracle::pairing::halves : oracle::pairing::interleaved;
}

/// The dims of pair i within the rotary block.
inline std::size_t x_index(either_layout layout, std::size_t i, std::size_t pairs) {
  return layout == either_layout::halves ? posenc::halves::x_index(i, pairs)
                                         : posenc::interleaved::x_index(i, pairs);
}
inline std::size_t y_index(either_layout layout, std::size_t i, std::size_t pairs) {
  return layout == either_layout::halves ? posenc::halves::y_index(i, pairs)
                                         : posenc::interleaved::y_index(i, pairs);
}

/// Rotates in place.
template <class T, class Rows>
void rotate_in(either_layout layout, posenc::heads_view<T> const& heads, Rows const& rows,
               posenc::rotary_block block = posenc::rotary_block::first()) {
  layout == either_layout::halves ? posenc::rotate<posenc::halves>(heads, rows, block)
                                  : posenc::rotate<posenc::interleaved>(heads, rows, block);
}

/// Calls `test` for float, double, half and bfloat16 with each layout. Types of others have the
/// bits of these: rotate_bits_test.cpp.
template <class Test>
void in_every_format_and_either_layout(Test&& test) {
  numbers::in_every_format([&]<class T>() {
    for (auto const layout : {either_layout::halves, either_layout::interleaved}) {
      SCOPED_TRACE(layout == either_layout::halves ? "halves" : "interleaved");
      test.template operator()<T>(layout);
    }
  });
}
