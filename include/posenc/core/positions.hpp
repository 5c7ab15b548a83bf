// Positions of tokens.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/lists.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One position per token, in any order; gaps, repeats and negative positions are allowed.
using positions_view = std::span<std::int64_t const>;

/// A position: an integer that fits int64, or a finite fractional number below 2^63 in magnitude.
template <class P>
concept position = (std::integral<P> && !std::same_as<P, bool>) || std::floating_point<P>;

/// A range of known size of positions. Said without the header `ranges`, which takes long to parse.
template <class R>
concept position_range = position<detail::number_in<R>> && requires(R const& range) {
  std::size(range), std::end(range);
};

namespace detail {

void require_position(char const* what, std::integral auto p, std::size_t token) {
  require(std::in_range<std::int64_t>(p), what, ": a position must fit int64, got ", p,
          " at token ", token);
}
void require_position(char const* what, std::floating_point auto p, std::size_t token) {
  auto const x = static_cast<double>(p);
  require(is_finite(x) && x >= -0x1p63 && x < 0x1p63, what,
          ": a position must be finite and within [-2^63, 2^63), got ", x, " at token ", token);
}

}  // namespace detail

/// Positions as a value, made of integers of any type:
///
///     attention_options{.query_positions = std::vector<std::int32_t>{7, 8}, .key_positions = ids}
///     m_rope.prepare({7, 8})
struct token_positions : std::vector<std::int64_t> {
  token_positions() = default;
  /// In braces.
  token_positions(std::initializer_list<std::int64_t> positions) : vector(positions) {}
  /// Moved, if the vector is given away.
  token_positions(std::vector<std::int64_t> positions) noexcept : vector(std::move(positions)) {}
  /// From integers of any other type. Throws std::invalid_argument unless each position fits int64.
  template <integer_range Integers>
  token_positions(Integers const& positions) {
    reserve(static_cast<std::size_t>(std::size(positions)));
    for (auto const p : positions) {
      detail::require_position("token_positions", p, size());
      push_back(static_cast<std::int64_t>(p));
    }
  }
};

namespace detail {

/// Positions that are given, or those from `first` on, which take no memory. Viewed.
class position_list {
 public:
  position_list() = default;
  explicit position_list(positions_view given) noexcept : given_(given), count_(given.size()) {}
  position_list(std::int64_t first, std::size_t count) noexcept : first_(first), count_(count) {}

  std::size_t size() const noexcept { return count_; }
  /// Whether each is one more than that before it because none is given.
  bool is_counted() const noexcept { return given_.data() == nullptr; }
  positions_view given() const noexcept { return given_; }  ///< empty if they are counted
  std::int64_t operator[](std::size_t i) const noexcept {
    return is_counted() ? first_ + static_cast<std::int64_t>(i) : given_[i];
  }
  /// Those of neighbouring tokens.
  position_list part(std::size_t first, std::size_t count) const noexcept {
    if (!is_counted()) return position_list(given_.subspan(first, count));
    return {first_ + static_cast<std::int64_t>(first), count};
  }
  /// As a list, which is written to `memory` if they are counted.
  positions_view listed(std::int64_t* memory) const noexcept {
    if (!is_counted()) return given_;
    std::iota(memory, memory + count_, first_);
    return {memory, count_};
  }
  positions_view listed(std::vector<std::int64_t>& memory) const {
    memory.resize(is_counted() ? count_ : 0);
    return listed(memory.data());
  }
  /// The tokens of [first, last), whose positions rise, at positions in [nearest, farthest].
  std::pair<std::size_t, std::size_t> within(std::size_t first, std::size_t last,
                                             std::int64_t nearest,
                                             std::int64_t farthest) const noexcept {
    if (!is_counted()) {
      auto const some = given_.subspan(first, last - first);
      auto const from = std::ranges::lower_bound(some, nearest) - some.begin(),
                 to = std::ranges::upper_bound(some, farthest) - some.begin();
      return {first + static_cast<std::size_t>(from), first + static_cast<std::size_t>(to)};
    }
    auto const from = (*this)[first], to = (*this)[last - 1];
    if (nearest > to || farthest < from) return {first, first};
    return {static_cast<std::size_t>(std::max(nearest, from) - first_),
            static_cast<std::size_t>(std::min(farthest, to) - first_) + 1};
  }
  /// The least and the largest. Precondition, not checked: there is one.
  std::pair<std::int64_t, std::int64_t> limits() const noexcept {
    if (is_counted()) return {first_, (*this)[count_ - 1]};
    auto const [least, largest] = std::ranges::minmax(given_);
    return {least, largest};
  }
  friend bool operator==(position_list const& a, position_list const& b) noexcept {
    if (a.is_counted() && b.is_counted())
      return a.count_ == b.count_ && (a.count_ == 0 || a.first_ == b.first_);
    for (std::size_t i = 0; i < a.count_ && a.count_ == b.count_; ++i)
      if (a[i] != b[i]) return false;
    return a.count_ == b.count_;
  }

 private:
  positions_view given_ = {};
  std::int64_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace detail
}}  // namespace posenc
