// Which distances a table shows.
#pragma once

#include <cstddef>
#include <vector>

namespace curves {

/// At most so many (2 or more) of the distances 0 ... range - 1 that are worth a column: 0, 1, then
/// round steps on a logarithmic scale, and the last. Each once, in order.
inline std::vector<std::size_t> landmarks(std::size_t range, std::size_t most) {
  if (range == 0) return {};
  auto const last = range - 1;
  std::vector<std::size_t> result;
  for (std::size_t step = range > 20'000 ? 8 : 4;; step *= 2) {
    result = {0};
    for (std::size_t r = 1; r < last; r *= step) {
      result.push_back(r);
      if (r > last / step) break;  // r * step is beyond
    }
    if (last != 0) result.push_back(last);
    if (result.size() <= most) return result;
    if (step > last / 2) break;  // a larger one leaves out no more
  }
  return most < 3 || last < 2 ? std::vector<std::size_t>{0, last}
                              : std::vector<std::size_t>{0, 1, last};
}

}  // namespace curves
