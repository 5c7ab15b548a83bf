// The first and the last key that each query of a call sees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/given_mask.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Tokens that are not there: those whose key or value has no slot.
struct missing_tokens {
  void const *keys = nullptr, *values = nullptr;
  bool (*is_one)(void const* keys, void const* values, std::size_t token) = nullptr;  ///< or none
  bool operator()(std::size_t token) const { return is_one(keys, values, token); }
};

/// A mask over the positions of all queries and keys, and the tokens that are missing.
class visible_keys {
 public:
  explicit visible_keys(attention_arguments const& given, missing_tokens const& missing = {})
      : visible_keys(given.mask, given.query_positions, given.key_positions, given.keys_rise,
                     missing) {}
  /// keys_rise: their positions, in each sequence.
  visible_keys(mask const& m, position_list const& queries, position_list const& keys,
               bool keys_rise, missing_tokens const& missing = {})
      : mask_(m),
        cells_(m.given_cells()),
        queries_(queries),
        keys_(keys),
        missing_(missing),
        rising_(keys_rise) {}

  /// The smallest known range of tokens that has every key of `among` that query t sees, whatever
  /// cells are given; {0, 0} if it sees none.
  token_range around(std::size_t t, token_range among) const noexcept {
    auto [first, last] = mask_.tokens(t, keys_.size());
    first = std::max(first, among.first);
    last = std::min(last, among.last);
    if (first >= last) return {0, 0};
    if (!rising_) return {first, last};
    auto const [nearest, farthest] = mask_.positions(queries_[t]);
    auto const seen = keys_.within(first, last, nearest, farthest);
    return seen.first < seen.second ? token_range{seen.first, seen.second} : token_range{0, 0};
  }
  /// The same for some heads, with the cells.
  token_range around(std::size_t t, std::size_t head, std::size_t heads,
                     token_range among) const noexcept {
    auto const range = around(t, among);
    if (cells_ == nullptr || range.first == range.last) return range;
    auto all = cells_->seen(t, head, range);
    for (std::size_t i = 1; i < heads && cells_->heads_differ(); ++i)
      all = hull_of(all, cells_->seen(t, head + i, range));
    return all;
  }

  /// Adds given biases to the scores of a row, over a range of keys, and overwrites the scores that
  /// query t does not see.
  template <class T>
  void mask_scores(std::size_t t, std::size_t head, token_range range,
                   std::span<T> row) const noexcept {
    if (cells_ != nullptr) cells_->apply(t, head, range, row);
    hide_others(t, range, row, masked_score<T>);
  }
  /// Overwrites the elements that query t does not see.
  template <class T>
  void hide(std::size_t t, std::size_t head, token_range range, std::span<T> row,
            T hidden) const noexcept {
    if (cells_ != nullptr) cells_->hide(t, head, range, row, hidden);
    hide_others(t, range, row, hidden);
  }

  /// The smallest range that contains both, of which one may be empty.
  static token_range hull_of(token_range a, token_range b) noexcept {
    if (a.first == a.last) return b;
    if (b.first == b.last) return a;
    return {std::min(a.first, b.first), std::max(a.last, b.last)};
  }

 private:
  template <class T>
  void hide_others(std::size_t t, token_range range, std::span<T> row, T hidden) const noexcept {
    auto const hide_where = [&](auto const& is_hidden) {
      for (auto s = range.first; s < range.last; ++s)
        if (is_hidden(s)) row[s - range.first] = hidden;
    };
    if (missing_.is_one != nullptr) hide_where(missing_);
    if (rising_) return;
    auto const [nearest, farthest] = mask_.positions(queries_[t]);
    hide_where([&, nearest = nearest, farthest = farthest](std::size_t s) {
      return keys_[s] < nearest || keys_[s] > farthest;
    });
  }

  mask const& mask_;
  given_mask const* cells_;
  position_list queries_, keys_;
  missing_tokens missing_;
  bool rising_;
};

/// The smallest range that contains all of them; {0, 0} if all are empty.
inline token_range hull(std::span<token_range const> ranges) noexcept {
  token_range all{0, 0};
  for (auto const& range : ranges) all = visible_keys::hull_of(all, range);
  return all;
}

}}}  // namespace posenc::detail
