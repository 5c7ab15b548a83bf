// Numbers to work on: one allocation per type, shared by all cases, since they run one after
// another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "posenc/heads/storage.hpp"

namespace bench {

/// A tile of numbers in [-1, 1], none so small that rotating it makes subnormals. Its length is a
/// prime, so that no two rows are alike.
template <class T>
std::vector<T> const& tile() {
  static auto const numbers = [] {
    std::vector<T> result(16381);
    std::mt19937 random(1);
    for (auto& x : result) {
      auto const magnitude = 1. / 64 + 63. / 64 * static_cast<double>(random()) / 0x1p32;
      posenc::store(
          x, static_cast<posenc::arithmetic_t<T>>(random() % 2 == 0 ? magnitude : -magnitude));
    }
    return result;
  }();
  return numbers;
}

template <class T>
void fill(T* first, std::size_t count) {
  auto const& numbers = tile<T>();
  for (std::size_t i = 0; i < count; i += numbers.size())
    std::copy_n(numbers.data(), std::min(numbers.size(), count - i), first + i);
}

/// The allocation: 64-byte aligned, touched, the largest working set twice, and some more for
/// misalignment.
template <class T>
T* buffer() {
  struct release {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  static auto const owner = [] {
    constexpr std::size_t bytes = (std::size_t{128} << 20) + 64;
    std::unique_ptr<T, release> result(
        static_cast<T*>(::operator new (bytes, std::align_val_t{64})));
    fill(result.get(), bytes / sizeof(T));
    return result;
  }();
  return owner.get();
}

}  // namespace bench
