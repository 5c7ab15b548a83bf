// How much work a split gives to each rank at each step, counted in pairs of a query and a key that
// it sees.
#pragma once

#include <cstdint>
#include <vector>

#include "split.hpp"

namespace ring {

/// Of one head.
struct work {
  std::vector<std::vector<std::uint64_t>> pairs;  ///< [ranks][steps]

  std::uint64_t of_rank(std::size_t rank) const;
  std::uint64_t total() const;

  /// Of the busiest rank at a step, for which the others wait when they need its keys.
  std::uint64_t longest(std::size_t step) const;

  /// How much of the ranks' time is work if none begins a step before all have done the one before:
  /// total / (ranks * sum of the longest).
  double efficiency() const;
};

work count_work(split how, std::size_t tokens, std::size_t ranks);

}  // namespace ring
