#pragma once
#include <cstddef>
#include <span>
#include "posenc/attention/mask.hpp"
namespace posenc::inline POSENC_TARGET {
class given_mask {
 public:
  bool heads_differ() const noexcept { return false; }
  token_range seen(std::size_t, std::size_t, token_range among) const noexcept { return among; }
  template <class T> void apply(std::size_t, std::size_t, token_range, std::span<T>) const noexcept {}
  template <class T> void hide(std::size_t, std::size_t, token_range, std::span<T>, T) const noexcept {}
  void check(char const*, std::size_t, std::size_t, std::size_t) const {}
};
}
