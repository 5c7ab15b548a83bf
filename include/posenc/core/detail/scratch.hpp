// Memory of the caller's, cut into parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Takes parts from memory, one behind the other; each begins a cache line. Without memory it
/// counts the bytes that the same parts need.
class scratch {
 public:
  scratch() = default;  ///< counts
  explicit scratch(void* memory) noexcept
      : begin_(next_line(reinterpret_cast<std::uintptr_t>(memory))), end_(begin_) {}

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
