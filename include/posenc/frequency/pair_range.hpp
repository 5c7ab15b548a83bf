// A range of neighbouring pairs.
#pragma once

#include <cstddef>
#include <vector>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Neighbouring pairs [first, last).
struct pair_range {
  std::size_t first, last;
  friend bool operator==(pair_range const&, pair_range const&) = default;
};

namespace detail {

/// The pairs i below `pairs` that chosen(i).
std::vector<pair_range> ranges_of(std::size_t pairs, auto const& chosen) {
  std::vector<pair_range> result;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (!chosen(i)) continue;
    if (result.empty() || result.back().last != i) result.push_back({i, i});
    ++result.back().last;
  }
  return result;
}

}  // namespace detail

}  // namespace posenc
