// Memory that begins a cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Allocates at the start of a cache line. Numbers without a value are not initialised.
template <class Real>
struct line_allocator {
  using value_type = Real;
  static constexpr std::size_t line = 64;

  line_allocator() = default;
  template <class Other>
  line_allocator(line_allocator<Other> const&) noexcept {}

  // glibc's aligned operator new takes as long as a row, four times the plain one. The byte before
  // the numbers says how far they are from the start.
  Real* allocate(std::size_t n) {
    auto* const memory = static_cast<unsigned char*>(::operator new(n * sizeof(Real) + line));
    auto const offset = line - reinterpret_cast<std::uintptr_t>(memory) % line;
    memory[offset - 1] = static_cast<unsigned char>(offset);
    return reinterpret_cast<Real*>(memory + offset);
  }
  void deallocate(Real* p, std::size_t) noexcept {
    auto* const numbers = reinterpret_cast<unsigned char*>(p);
    ::operator delete(numbers - numbers[-1]);
  }

  template <class Number>
  void construct(Number* p) noexcept {
    ::new (static_cast<void*>(p)) Number;
  }

  friend bool operator==(line_allocator, line_allocator) noexcept { return true; }
};

}  // namespace posenc::detail
