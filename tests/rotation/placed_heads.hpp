#pragma once

/// Heads placed in memory in every way that strides allow, with something before, between and after them.

#include <array>
#include <cstddef>
#include <vector>

#include "numbers.hpp"
#include "posenc/core/heads_view.hpp"

/// Where the heads of a token, and the tokens, lie.
enum class arrangement { dense, padded, heads_outermost, backwards };

inline constexpr std::array arrangements{arrangement::dense, arrangement::padded, arrangement::heads_outermost, arrangement::backwards};

/// Random numbers in [-1, 1], some of them those of heads.
template <class T>
class placed_heads {
 public:
  /// `misaligned`: how many elements the heads begin after where memory is aligned.
  placed_heads(posenc::heads_shape shape, arrangement arranged, std::size_t misaligned = 0) : shape_(shape) {
    auto const tokens = static_cast<std::ptrdiff_t>(shape.tokens), heads = static_cast<std::ptrdiff_t>(shape.heads);
    auto const dim = static_cast<std::ptrdiff_t>(shape.head_dim);
    if (arranged == arrangement::dense) strides_ = {heads * dim, dim};
    if (arranged == arrangement::padded) strides_ = {heads * (dim + 3) + 5, dim + 3};
    if (arranged == arrangement::heads_outermost) strides_ = {dim + 1, tokens * (dim + 1)};
    if (arranged == arrangement::backwards) strides_ = {-(heads * dim + 1), -dim};
    auto const span = (tokens - 1) * strides_.token + (heads - 1) * strides_.head;
    first_ = 16 + misaligned + static_cast<std::size_t>(span < 0 ? -span : 0);
    memory = numbers::random<T>(16 + misaligned + static_cast<std::size_t>(span < 0 ? -span : span) + shape.head_dim + 16);
  }

  posenc::heads_view<T> view() { return {memory.data() + first_, shape_, strides_}; }

  /// Where in memory that number is.
  std::size_t at(std::size_t token, std::size_t head, std::size_t dim) {
    return static_cast<std::size_t>(view()(token, head).data() - memory.data()) + dim;
  }

  std::vector<T> memory;

 private:
  posenc::heads_shape shape_;
  posenc::heads_strides strides_;
  std::size_t first_;
};
