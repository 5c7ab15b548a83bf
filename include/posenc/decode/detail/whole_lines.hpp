// Memory that begins where a cache line does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Numbers that begin where a cache line does: a register that lies across two lines is loaded and
/// stored at half the rate.
template <class T>
class whole_lines {
 public:
  explicit whole_lines(std::size_t count) : numbers_(count + line / sizeof(T)) {}
  T* data() noexcept {
    auto const past = reinterpret_cast<std::uintptr_t>(numbers_.data()) % line;
    return numbers_.data() + (line - past) / sizeof(T);
  }

 private:
  static constexpr std::size_t line = 64;
  std::vector<T> numbers_;
};

}}}  // namespace posenc::detail
