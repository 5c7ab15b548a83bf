// Where heads are in memory, and whether heads of two views share a byte.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Addresses in memory, [first, last).
struct memory_range {
  std::uintptr_t first = 0, last = 0;  ///< in bytes
  /// Whether a byte is in both.
  friend constexpr bool overlap(memory_range a, memory_range b) noexcept {
    return a.first < b.last && b.first < a.last;
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
    if (stride < 0) head.first += (count - 1) * n, head.last += (count - 1) * n;
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
  /// What comes again every `period` bytes: a stride that is a multiple leads to nothing new.
  memory_range within(std::uintptr_t period) const noexcept {
    auto once = *this;
    for (auto& each : once.of_head)
      if (each.stride % period == 0) each.stride = 0;
    return once.all();
  }
};

/// Whether the heads lie side by side: keys and values in each page, or in each token.
inline bool are_side_by_side(strided_memory const& a, strided_memory const& b) noexcept {
  auto const in_each = [&](strided_memory::repetition const& one) {
    auto const n = one.stride;
    if (n == 0) return false;
    auto const x = a.within(n), y = b.within(n);
    auto const offset = (y.first % n + n - x.first % n) % n;
    return offset >= x.last - x.first && offset + (y.last - y.first) <= n;
  };
  return std::ranges::any_of(a.of_head, in_each) || std::ranges::any_of(b.of_head, in_each);
}

/// False only if no byte is at both addresses. Heads side by side in each page, in each token or in
/// each head are apart, and so are other slots of the same pages; others that interleave count as
/// overlapping.
template <class A, class B>
bool addresses_overlap(A const& a, B const& b) noexcept {
  if (!overlap(a.memory(), b.memory())) return false;
  if constexpr (requires { a.has_other_slots(b); })
    if (a.has_other_slots(b)) return false;
  return !are_side_by_side(a.strided(), b.strided());
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
}  // namespace posenc
