// Positions of tokens, and lists of numbers as arguments.
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

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One position per token, in any order; gaps, repeats and negative positions are allowed.
using positions_view = std::span<std::int64_t const>;

namespace detail {

/// Of a vector, an array, a span ...: its span, and the type of its numbers.
template <class R>
using span_of = decltype(std::span(std::declval<R&>()));
template <class R>
using span_value_t = typename span_of<R>::value_type;

template <class R>
using number_in = std::remove_cvref_t<decltype(*std::begin(std::declval<R const&>()))>;

void require_position(char const* what, std::integral auto p, std::size_t token) {
  require(std::in_range<std::int64_t>(p), what, ": a position must fit int64, got ", p,
          " at token ", token);
}

}  // namespace detail

/// A vector, array, span ... of integers of any type.
template <class R>
concept integer_range =
    std::integral<detail::number_in<R>> && !std::same_as<detail::number_in<R>, bool> &&
    requires(R const& r) {
  std::size(r);
};

/// An argument that takes what std::span takes, a vector, an array ..., and braces:
///
///     contiguous_axes({16, 24, 24})
///
/// Valid during the call, which must copy what it keeps.
template <class T>
struct list_view : std::span<T const> {
  /// Braces.
  list_view(std::initializer_list<T> list) noexcept
      : std::span<T const>(list.begin(), list.size()) {}
  /// What std::span takes.
  template <class List>
  requires std::convertible_to<List const&, std::span<T const>> list_view(List const& list)
  noexcept : std::span<T const>(list) {}
};

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
  /// Of integers of any other type. Throws std::invalid_argument unless each position fits int64.
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
  /// Of the tokens [first, last), whose positions rise, those at positions in [nearest, farthest].
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
