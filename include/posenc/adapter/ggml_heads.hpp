// Heads in a tensor of ggml's: four dimensions, strides in bytes.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Rows of a tensor, that is, heads, in ggml's order: batch, token, head. The last is beyond them.
struct ggml_row_range {
  std::size_t first;  ///< from 0
  std::size_t last;   ///< not among them
};

/// Some heads of some neighbouring tokens of a batch.
struct ggml_block {
  std::size_t batch;   ///< from 0
  std::size_t token;   ///< the first
  std::size_t tokens;  ///< one or more
  std::size_t head;    ///< the first
  std::size_t heads;   ///< of each token, one or more
};

/// A view of a tensor of heads: ne = {head_dim, heads, tokens, batches}, nb = the distance in bytes
/// of one of each to the next.
/// Throws std::invalid_argument unless ne[0] is positive, no ne is negative, nb[0] is the size of T
/// and the other nb are multiples of it.
template <storable T>
class ggml_heads {
 public:
  using element_type = T;  ///< const if the heads are only read

  /// Of anything with data, ne and nb, as ggml_tensor has.
  // clang-format off
  template <class Tensor>
  requires requires(Tensor const& t) { t.data, t.ne[3], t.nb[3]; }
  explicit ggml_heads(Tensor const& t)
      : ggml_heads(t.data, {t.ne[0], t.ne[1], t.ne[2], t.ne[3]},
                   {t.nb[0], t.nb[1], t.nb[2], t.nb[3]}) {}
  // clang-format on

  /// Of the memory at data. Throws as the class says.
  ggml_heads(std::conditional_t<std::is_const_v<T>, void const, void>* data,
             std::array<std::int64_t, 4> const& ne, std::array<std::size_t, 4> const& nb)
      : data_(static_cast<T*>(data)) {
    detail::require(ne[0] > 0, "ggml_heads: ne[0], the head_dim, must be positive, got ", ne[0]);
    for (std::size_t i = 0; i < 4; ++i) {
      detail::require(ne[i] >= 0, "ggml_heads: ne must not be negative, got ", ne[i],
                      " in dimension ", i);
      detail::require(nb[i] % sizeof(T) == 0 && (i > 0 || nb[0] == sizeof(T)),
                      "ggml_heads: nb[0] must be the ", sizeof(T),
                      " bytes of an element and nb a multiple of it, got ", nb[i], " in dimension ",
                      i);
      size_[i] = static_cast<std::size_t>(ne[i]);
      stride_[i] = static_cast<std::ptrdiff_t>(nb[i] / sizeof(T));
    }
  }

  std::size_t head_dim() const noexcept { return size_[0]; }  ///< ne[0]
  std::size_t heads() const noexcept { return size_[1]; }     ///< ne[1], of each token
  std::size_t tokens() const noexcept { return size_[2]; }    ///< ne[2], of each batch
  std::size_t batches() const noexcept { return size_[3]; }   ///< ne[3]
  /// Heads of all tokens and batches.
  std::size_t rows() const noexcept { return heads() * tokens() * batches(); }
  std::array<std::size_t, 4> const& shape() const noexcept { return size_; }  ///< ne

  /// For one thread that does all.
  ggml_row_range all_rows() const noexcept { return {0, rows()}; }
  /// The rows of thread `thread` of `threads`, as ggml's ops split them: equal parts, rounded up.
  /// Precondition, not checked: threads > 0.
  ggml_row_range rows_of_thread(std::integral auto thread, std::integral auto threads) const {
    auto const n = static_cast<std::size_t>(threads), each = (rows() + n - 1) / n;
    auto const first = std::min(each * static_cast<std::size_t>(thread), rows());
    return {first, std::min(first + each, rows())};
  }

  /// The heads of a block. Precondition, not checked: it lies within the tensor.
  heads_view<T> block(ggml_block const& b) const {
    auto const steps = [this](std::size_t count, std::size_t dimension) {
      return static_cast<std::ptrdiff_t>(count) * stride_[dimension];
    };
    return {data_ + steps(b.batch, 3) + steps(b.token, 2) + steps(b.head, 1),
            {b.tokens, b.heads, head_dim()},
            {stride_[2], stride_[1]}};
  }

  /// Whether the range is one block, of a token or of whole tokens of a batch.
  bool is_one_block(ggml_row_range range) const noexcept {
    auto const first = range.first / heads(), last = (range.last - 1) / heads();
    bool const whole = range.first % heads() == 0 && range.last % heads() == 0;
    return first == last || (whole && first / tokens() == last / tokens());
  }

  /// Calls each(block) for as few blocks as hold the rows of a range, in their order.
  void for_blocks(ggml_row_range range, auto const& each) const {
    for (auto row = range.first; row < range.last;) {
      auto const left = range.last - row, head = row % heads(), token = row / heads();
      ggml_block b{token / tokens(), token % tokens(), 1, head, std::min(heads() - head, left)};
      if (head == 0 && left >= heads()) b.tokens = std::min(tokens() - b.token, left / heads());
      each(b);
      row += b.tokens * b.heads;
    }
  }

 private:
  T* data_;
  std::array<std::size_t, 4> size_{};
  std::array<std::ptrdiff_t, 4> stride_{};
};

}  // namespace posenc
