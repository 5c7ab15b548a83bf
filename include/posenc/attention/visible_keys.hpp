// Which keys each query sees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "posenc/attention/mask.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// A mask over the positions of all queries and keys.
class visible_keys {
 public:
  visible_keys(mask const& m, positions_view query_positions, positions_view key_positions)
      : mask_(m),
        queries_(query_positions),
        keys_(key_positions),
        rising_(m.sequences_rise(key_positions)) {}

  /// The smallest known range of tokens that has every key of `among` that query t sees; {0, 0} if
  /// it sees none.
  token_range around(std::size_t t, token_range among) const noexcept {
    auto [first, last] = mask_.tokens(t, keys_.size());
    if (rising_) {
      auto const [nearest, farthest] = mask_.positions(queries_[t]);
      auto const own = keys_.subspan(first, last - first);
      last =
          first + static_cast<std::size_t>(std::ranges::upper_bound(own, farthest) - own.begin());
      first += static_cast<std::size_t>(std::ranges::lower_bound(own, nearest) - own.begin());
    }
    first = std::max(first, among.first), last = std::min(last, among.last);
    return first < last ? token_range{first, last} : token_range{0, 0};
  }

  /// Overwrites the elements of the row, over a range of keys, that query t does not see.
  template <class T>
  void hide(std::size_t t, token_range range, std::span<T> row,
            T hidden = masked_score<T>) const noexcept {
    if (rising_) return;
    auto const [nearest, farthest] = mask_.positions(queries_[t]);
    for (auto s = range.first; s < range.last; ++s) {
      if (keys_[s] < nearest || keys_[s] > farthest) row[s - range.first] = hidden;
    }
  }

 private:
  mask const& mask_;
  positions_view queries_, keys_;
  bool rising_;
};

/// The smallest range that contains all of them; {0, 0} if all are empty.
inline token_range hull(std::span<token_range const> ranges) noexcept {
  token_range all{0, 0};
  for (auto const& [first, last] : ranges) {
    if (first == last) continue;
    all = all.first == all.last ? token_range{first, last}
                                : token_range{std::min(all.first, first), std::max(all.last, last)};
  }
  return all;
}

}  // namespace posenc::detail
