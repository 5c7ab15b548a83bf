// The memory of heads, and whether heads of two views share a byte.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Addresses in memory, [first, last).
struct memory_range {
  std::uintptr_t first = 0, last = 0;  ///< in bytes
  /// Whether a byte is in both.
  friend constexpr bool overlap(memory_range a, memory_range b) noexcept {
    a = a.from_0(), b = b.from_0();
    return a.first < b.last && b.first < a.last;
  }

 private:
  // Pages that no slot has may be below address 0: then first wraps around, and what exists begins
  // at 0. With 32 bits last may have wrapped around instead.
  constexpr memory_range from_0() const noexcept {
    if (first <= last) return *this;
    return {0, sizeof(void*) == 8 ? last : std::numeric_limits<std::uintptr_t>::max()};
  }
};

namespace detail {

/// Heads that are as long as the lowest one, repeated by up to three strides.
struct strided_memory {
  struct repetition {
    std::uintptr_t count = 0, stride = 0;  // in bytes
  };
  memory_range head = {};  // the lowest
  std::array<repetition, 3> of_head = {};

  /// Repeats it by stride i, of elements of `size` bytes, upwards or downwards.
  void repeat(std::size_t i, std::size_t count, std::ptrdiff_t stride, std::size_t size) noexcept {
    auto const n = static_cast<std::uintptr_t>(stride) * size;
    of_head[i] = {count, stride < 0 ? 0 - n : n};
    if (stride < 0) {
      head.first += (count - 1) * n;
      head.last += (count - 1) * n;
    }
  }
  /// From the lowest byte to one beyond the highest.
  memory_range all() const noexcept {
    auto range = head;
    for (auto const [count, stride] : of_head) range.last += (count - 1) * stride;
    return range;
  }
  /// Whether each stride is at least as long as what the shorter ones span: no two heads share a
  /// byte.
  bool is_nested() const noexcept {
    auto [a, b, c] = of_head;
    auto const sort = [](repetition& less, repetition& more) {
      if (more.stride < less.stride) std::swap(less, more);
    };
    sort(a, b), sort(b, c), sort(a, b);
    auto length = head.last - head.first;
    for (auto const& [count, stride] : {a, b, c}) {
      if (count <= 1) continue;
      if (stride < length) return false;
      length += (count - 1) * stride;
    }
    return true;
  }
};

/// Looks for a byte of heads of both a and b. Head j of b lies offset + sum m s bytes behind head i
/// of a, m = j - i for a stride s that both have. The search tries each m that may bring the two
/// together, from the longest stride to the shortest: two or three values for a stride that is at
/// least as long as all heads at the shorter strides, as every stride of pages, tokens and heads
/// is.
class byte_search {
 public:
  byte_search(strided_memory const& a, strided_memory const& b) noexcept
      : offset_(difference(b.head.first, a.head.first)),
        nearest_(difference(b.head.first, b.head.last)),
        farthest_(difference(a.head.last, a.head.first)) {
    for (auto const& [n, s] : a.of_head) add(n, s, -1);
    for (auto const& [n, s] : b.of_head) add(n, s, 1);
    lowest_[count_] = highest_[count_] = 0;
    for (auto i = count_; i-- > 0;) {
      lowest_[i] = lowest_[i + 1] + terms_[i].least * terms_[i].stride;
      highest_[i] = highest_[i + 1] + terms_[i].most * terms_[i].stride;
    }
  }

  /// Exact, unless strides are so entangled that there is more to try: then true, unless both have
  /// one period, in which they are apart.
  bool finds() noexcept {
    return meet(0, offset_) || (tries_ > most_tries && !are_apart_in_a_period());
  }

 private:
  using integer = std::int64_t;
  static constexpr int most_tries = 2000;
  struct term {
    integer stride, least, most;  // of m
  };
  static integer difference(std::uintptr_t a, std::uintptr_t b) noexcept {
    return a < b ? -static_cast<integer>(b - a) : static_cast<integer>(a - b);
  }
  static integer floor_of(integer a, integer b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

  // In descending order of strides.
  void add(std::uintptr_t n, std::uintptr_t bytes, integer sign) noexcept {
    if (n <= 1 || bytes == 0) return;
    auto const stride = static_cast<integer>(bytes), m = static_cast<integer>(n - 1) * sign;
    std::size_t i = 0;
    while (i < count_ && terms_[i].stride > stride) ++i;
    if (i == count_ || terms_[i].stride != stride) {
      for (auto j = count_++; j > i; --j) terms_[j] = terms_[j - 1];
      terms_[i] = {stride, 0, 0};
    }
    (m < 0 ? terms_[i].least : terms_[i].most) += m;
  }
  // Whether terms from i on bring an offset to where heads meet.
  bool meet(std::size_t i, integer offset) noexcept {
    if (i == count_) return nearest_ < offset && offset < farthest_;
    auto const& [stride, least, most] = terms_[i];
    auto const first = floor_of(nearest_ - offset - highest_[i + 1], stride) + 1,
               last = floor_of(farthest_ - offset - lowest_[i + 1] - 1, stride);
    for (auto m = std::max(first, least); m <= std::min(last, most); ++m) {
      if (++tries_ > most_tries) return false;
      if (meet(i + 1, offset + m * stride)) return true;
    }
    return false;
  }
  // Whether none of the places that repeat every so many bytes, a divisor of the longest strides,
  // is among the places that the shorter strides reach.
  bool are_apart_in_a_period() const noexcept {
    integer period = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      // Euclid's: std::gcd counts zeros, by an instruction that not every CPU of a set has.
      for (auto rest = terms_[i].stride; rest != 0;) rest = std::exchange(period, rest) % rest;
      auto const first = nearest_ - highest_[i + 1] + 1 - offset_,
                 last = farthest_ - lowest_[i + 1] - 1 - offset_;
      if (floor_of(last, period) < floor_of(first - 1, period) + 1) return true;
    }
    return false;
  }

  integer offset_, nearest_, farthest_;  // they meet between the last two, exclusive
  std::array<term, 6> terms_;
  std::size_t count_ = 0;
  std::array<integer, 7> lowest_, highest_;  // of the sum of terms from i on
  int tries_ = 0;
};

/// Whether heads of both share a byte: exact for heads side by side in pages, tokens and heads,
/// with any padding; true too where memory is beyond what 64 bits count, or strides are entangled.
[[gnu::noinline]] inline bool share_a_byte(strided_memory const& a,
                                           strided_memory const& b) noexcept {
  auto const x = a.all(), y = b.all();
  constexpr auto room = std::numeric_limits<std::int64_t>::max() / 8;
  if (!overlap(x, y)) return false;
  if (std::cmp_greater(x.last - x.first, room) || std::cmp_greater(y.last - y.first, room))
    return true;
  return byte_search(a, b).finds();
}

/// False only if no byte is at both addresses: see share_a_byte. Other slots of the same pages are
/// apart too.
template <class A, class B>
bool addresses_overlap(A const& a, B const& b) noexcept {
  if (!overlap(a.memory(), b.memory())) return false;
  if constexpr (requires { a.has_other_slots(b); })
    if (a.has_other_slots(b)) return false;
  return share_a_byte(a.strided(), b.strided());
}

/// Whether the heads at both addresses, of as many tokens and heads, are the same bytes.
template <class A, class B>
bool same_address(A const& a, B const& b) noexcept {
  bool same = a.head_stride() == b.head_stride() || a.heads() <= 1;
  for (std::size_t token = 0; same && token < a.tokens(); ++token)
    same = static_cast<void const*>(a.token(token)) == b.token(token);
  return same;
}

/// False only if the views share no byte. A struct of a user's, which says nothing of its memory,
/// shares none.
template <class A, class B>
bool may_overlap(A const& a, B const& b) noexcept {
  if constexpr (requires { a.addresses(), b.addresses(); }) {
    for (auto const* const x : a.addresses())
      for (auto const* const y : b.addresses())
        if (addresses_overlap(*x, *y)) return true;
  }
  return false;
}

/// Whether the views, of the same shape, are the same heads in the same format.
template <class A, class B>
bool same_heads(A const& a, B const& b) noexcept {
  if (static_cast<void const*>(&a) == &b) return true;
  if constexpr (requires {
                  requires std::same_as<typename A::format_type, typename B::format_type>;
                }) {
    auto const of_a = a.addresses();
    auto const of_b = b.addresses();
    for (std::size_t i = 0; i < of_a.size(); ++i)
      if (!same_address(*of_a[i], *of_b[i])) return false;
    return true;
  }
  return false;
}

}  // namespace detail
}}  // namespace posenc
