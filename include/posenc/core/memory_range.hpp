// Where heads are in memory, and whether heads of two views share a byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

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

  /// From the lowest byte to one beyond the highest.
  memory_range all() const noexcept {
    auto range = head;
    for (auto const [count, stride] : of_head) range.last += (count - 1) * stride;
    return range;
  }
  /// What comes again every `period` bytes: a stride that is a multiple leads to nothing new.
  memory_range within(std::uintptr_t period) const noexcept {
    auto some = *this;
    for (auto& each : some.of_head)
      if (each.stride % period == 0) each.stride = 0;
    return some.all();
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

/// False only if no byte is in both views. Heads side by side in each page, in each token or in
/// each head are apart, and so are other slots of the same pages; others that interleave count as
/// overlapping.
template <class A, class B>
bool may_overlap(A const& a, B const& b) noexcept {
  if (!overlap(a.memory(), b.memory())) return false;
  if constexpr (requires { a.has_other_slots(b); })
    if (a.has_other_slots(b)) return false;
  if constexpr (requires { a.strided(), b.strided(); })
    return !are_side_by_side(a.strided(), b.strided());
  return true;
}

}  // namespace detail
}  // namespace posenc
