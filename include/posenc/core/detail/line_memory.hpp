// Memory that begins where a cache line does: a register that lies across two lines is loaded and
// stored at half the rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

inline constexpr std::uintptr_t cache_line = 64;  ///< in bytes

/// The first address from this one on where a line begins.
constexpr std::uintptr_t next_line(std::uintptr_t address) noexcept {
  return (address + cache_line - 1) / cache_line * cache_line;
}

/// Allocates at the start of a cache line. Numbers without a value are not initialised.
template <class Number>
struct line_allocator {
  using value_type = Number;

  line_allocator() = default;
  template <class Other>
  line_allocator(line_allocator<Other> const&) noexcept {}

  // glibc's aligned operator new takes as long as a row, four times the plain one. The byte before
  // the numbers says how far they are from the start.
  Number* allocate(std::size_t n) {
    auto* const memory =
        static_cast<unsigned char*>(::operator new(n * sizeof(Number) + cache_line));
    auto const start = reinterpret_cast<std::uintptr_t>(memory);
    auto const offset = next_line(start + 1) - start;
    memory[offset - 1] = static_cast<unsigned char>(offset);
    return reinterpret_cast<Number*>(memory + offset);
  }
  void deallocate(Number* p, std::size_t) noexcept {
    auto* const numbers = reinterpret_cast<unsigned char*>(p);
    ::operator delete(numbers - numbers[-1]);
  }

  template <class Other>
  void construct(Other* p) noexcept {
    ::new (static_cast<void*>(p)) Other;
  }

  friend bool operator==(line_allocator, line_allocator) noexcept { return true; }
};

/// A vector of numbers that begin a line.
template <class Number>
using line_vector = std::vector<Number, line_allocator<Number>>;

}}}  // namespace posenc::detail
