// Memory that begins where a cache line does: a register that lies across two lines is loaded and
// stored at half the rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

/// Takes parts from memory, one behind the other; each begins a cache line. Given no
/// memory, it counts the bytes that the same parts need.
class scratch {
 public:
  scratch() = default;  ///< counts
  explicit scratch(void* memory) noexcept
      : begin_(next_line(reinterpret_cast<std::uintptr_t>(memory))), end_(begin_) {}

  bool counts() const noexcept { return begin_ == 0; }  ///< there is no memory

  /// Room for `count` times `each` numbers.
  template <class T>
  T* take(std::size_t count, std::size_t each = 1) noexcept {
    constexpr auto most = std::numeric_limits<std::uintptr_t>::max() / 4;
    auto const first = next_line(end_);
    if (each != 0 && count > most / sizeof(T) / each) {
      fits_ = false;
    } else {
      end_ = first + count * each * sizeof(T);
      fits_ = fits_ && end_ - begin_ < most;
    }
    if (!fits_) end_ = begin_;
    return reinterpret_cast<T*>(first);  // NOLINT(performance-no-int-to-ptr): counted first
  }
  /// The bytes that are taken, with those before the first line of memory at any address; 2^N - 1
  /// if no memory has as many.
  std::size_t bytes() const noexcept {
    return fits_ ? end_ - begin_ + cache_line - 1 : std::numeric_limits<std::size_t>::max();
  }

 private:
  std::uintptr_t begin_ = 0, end_ = 0;
  bool fits_ = true;
};

}}}  // namespace posenc::detail
