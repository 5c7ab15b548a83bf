#pragma once

/// Inputs of attention, [tokens][heads][dim], somewhere in memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.hpp"
#include "posenc/heads/heads_view.hpp"

enum class memory { dense, padded, heads_first, backwards, repeated };

inline posenc::heads_strides strides_of(posenc::heads_shape shape, memory where) {
  auto const dim = static_cast<std::ptrdiff_t>(shape.head_dim),
             heads = static_cast<std::ptrdiff_t>(shape.heads),
             tokens = static_cast<std::ptrdiff_t>(shape.tokens);
  switch (where) {
    case memory::padded:
      return {heads * (dim + 2) + 1, dim + 2};
    case memory::heads_first:
      return {dim, tokens * dim};
    case memory::backwards:
      return {-heads * (dim + 1), dim + 1};
    case memory::repeated:
      return {0, 0};
    case memory::dense:
      break;
  }
  return {heads * dim, dim};
}

/// Random numbers, with others between and around them that would show in every result.
template <class T>
class tensor {
 public:
  tensor(posenc::heads_shape shape, memory where, std::uint64_t seed)
      : tensor(shape, strides_of(shape, where), seed) {}

  std::vector<T> const& buffer() const { return buffer_; }
  posenc::heads_view<T const> view() const { return view_; }

  /// The numbers that the view shows, one head after another.
  std::vector<double> exact() const {
    std::vector<double> result;
    for (std::size_t token = 0; token < view_.tokens(); ++token)
      for (std::size_t head = 0; head < view_.heads(); ++head)
        for (auto const x : view_(token, head))
          result.push_back(static_cast<double>(posenc::load(x)));
    return result;
  }

 private:
  tensor(posenc::heads_shape shape, posenc::heads_strides strides, std::uint64_t seed)
      : buffer_((shape.head_dim + 3) * (shape.heads + 1) * (shape.tokens + 1), T(1e6)),
        view_(buffer_.data() + (strides.token < 0
                                    ? -strides.token * static_cast<std::ptrdiff_t>(shape.tokens)
                                    : 0),
              shape, strides) {
    auto const numbers = numbers::random<T>(shape.tokens * shape.heads * shape.head_dim, seed);
    auto from = numbers.begin();
    for (std::size_t token = 0; token < shape.tokens; ++token)
      for (std::size_t head = 0; head < shape.heads; ++head)
        for (auto const& x : view_(token, head))
          buffer_[static_cast<std::size_t>(&x - buffer_.data())] = *from++;
  }

  std::vector<T> buffer_;
  posenc::heads_view<T const> view_;
};
