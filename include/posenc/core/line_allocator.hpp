// Memory that begins a cache line.
#pragma once

#include <cstddef>
#include <new>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Allocates at the start of a cache line, so that rows begin there if their length allows it.
template <class Real>
struct line_allocator {
  using value_type = Real;
  line_allocator() = default;
  template <class Other>
  line_allocator(line_allocator<Other> const&) noexcept {}
  static constexpr std::align_val_t line{64};
  Real* allocate(std::size_t n) {
    return static_cast<Real*>(::operator new(n * sizeof(Real), line));
  }
  void deallocate(Real* p, std::size_t) noexcept { ::operator delete(p, line); }
  friend bool operator==(line_allocator, line_allocator) noexcept { return true; }
};

}  // namespace posenc::detail
