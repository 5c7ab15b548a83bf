// The address of heads at strides: to the next token, to the next head.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/detail/fits_into_memory.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/overlap.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The shape of heads, [tokens][heads][head_dim].
struct heads_shape {
  std::size_t tokens = 0,  ///< in all
      heads = 0,           ///< of each token
      head_dim = 0;        ///< of each head
  friend bool operator==(heads_shape const&, heads_shape const&) = default;
};

/// Distance from one token, or head, to the next. The dims of one head are contiguous.
struct heads_strides {
  std::ptrdiff_t token = 0, head = 0;  ///< in elements, of either sign
  friend bool operator==(heads_strides const&, heads_strides const&) = default;
};

namespace detail {

/// Throws, in the name of a view, unless [first, first + count) lies within [0, size).
inline void require_slice(char const* what, std::size_t first, std::size_t count,
                          std::size_t size) {
  require(first <= size && count <= size - first, "heads_view: a slice of ", what,
          " must lie within [0, ", size, "), got first ", first, ", count ", count);
}

/// Heads of `width` elements E each: numbers, or bytes.
template <class E>
class strided_address {
 public:
  POSENC_ALWAYS_INLINE strided_address(E* data, heads_shape shape, heads_strides strides)
      : data_(data), shape_(shape), strides_(strides) {
    check(data_, shape.tokens, shape.heads, shape.head_dim, strides.token, strides.head);
  }
  /// Contiguous: one head after another.
  POSENC_ALWAYS_INLINE strided_address(E* data, heads_shape shape)
      : strided_address(data, shape,
                        {static_cast<std::ptrdiff_t>(shape.heads * shape.head_dim),
                         static_cast<std::ptrdiff_t>(shape.head_dim)}) {}
  template <std::same_as<std::remove_const_t<E>> U>
  strided_address(strided_address<U> const& other) noexcept
      : data_(other.data()),
        shape_{other.tokens(), other.heads(), other.width()},
        strides_(other.strides()) {}

  E* data() const noexcept { return data_; }                          ///< of token 0, head 0
  heads_strides const& strides() const noexcept { return strides_; }  ///< in elements
  std::size_t tokens() const noexcept { return shape_.tokens; }       ///< the first extent
  std::size_t heads() const noexcept { return shape_.heads; }         ///< of each token
  std::size_t width() const noexcept { return shape_.head_dim; }      ///< elements of a head

  /// Every token is somewhere.
  static constexpr bool has(std::size_t) noexcept { return true; }
  static constexpr bool has_all() noexcept { return true; }
  /// The first head of a token, null if there are no heads.
  E* token(std::size_t token) const noexcept {
    return heads() == 0 ? nullptr : data_ + static_cast<std::ptrdiff_t>(token) * strides_.token;
  }
  std::ptrdiff_t head_stride() const noexcept { return strides_.head; }  ///< in elements
  /// A head. Precondition, not checked: token < tokens(), head < heads().
  E* at(std::size_t token, std::size_t head) const noexcept {
    return data_ + static_cast<std::ptrdiff_t>(token) * strides_.token +
           static_cast<std::ptrdiff_t>(head) * strides_.head;
  }

  /// From the lowest byte to one beyond the highest, gaps included.
  memory_range memory() const noexcept { return strided().all(); }
  /// The same, as may_overlap has it.
  strided_memory strided() const noexcept {
    if (tokens() == 0 || heads() == 0) return {};
    auto const first = reinterpret_cast<std::uintptr_t>(data_);  // others may be outside the array
    strided_memory all{{first, first + width() * sizeof(E)}, {}};
    all.repeat(0, tokens(), strides_.token, sizeof(E));
    all.repeat(1, heads(), strides_.head, sizeof(E));
    return all;
  }

 protected:
  void narrow_tokens(std::size_t first, std::size_t count) {
    require_slice("tokens", first, count, shape_.tokens);
    if (count > 0 && heads() > 0) data_ = token(first);
    shape_.tokens = count;
  }
  void narrow_heads(std::size_t first, std::size_t count) {
    require_slice("heads", first, count, shape_.heads);
    if (count > 0 && tokens() > 0) data_ += static_cast<std::ptrdiff_t>(first) * strides_.head;
    shape_.heads = count;
  }
  void narrow_width(std::size_t first, std::size_t count) {
    require_slice("dims", first, count, shape_.head_dim);
    require(count > 0, "heads_view: a slice of dims must not be empty");
    if (data_ != nullptr) data_ += first;
    shape_.head_dim = count;
  }

 private:
  // Six arguments: a call has registers for six, and structs would go through memory.
  static void check(E const* data, std::size_t tokens, std::size_t heads, std::size_t width,
                    std::ptrdiff_t token_stride, std::ptrdiff_t head_stride) {
    require(width > 0, "heads_view: head_dim must be positive, got 0");
    if (tokens == 0 || heads == 0) return;
    require(data != nullptr, "heads_view: data must not be null for ", tokens, " tokens x ", heads,
            " heads");
    require(fits_into_memory(room_of_memory(sizeof(E)), width, repeated{tokens, token_stride},
                             repeated{heads, head_stride}),
            "heads_view: the view must fit into memory, got ", tokens, " tokens of stride ",
            token_stride, " and ", heads, " heads of stride ", head_stride);
    if constexpr (!std::is_const_v<E>)
      require(is_disjoint(tokens, heads, width, magnitude(token_stride), magnitude(head_stride)),
              "heads_view: heads that are written to must not overlap, got ",
              is_byte ? "heads of " : "head_dim ", width, is_byte ? " bytes with " : " with ",
              tokens, " tokens of stride ", token_stride, " and ", heads, " heads of stride ",
              head_stride);
  }

  static constexpr bool is_byte = sizeof(E) == 1;  // of a format

  // Whether |a * token + b * head| >= width for all steps (a, b) != (0, 0) within the view.
  static bool is_disjoint(std::size_t tokens, std::size_t heads, std::size_t width,
                          std::size_t token, std::size_t head) noexcept {
    if ((tokens > 1 && token < width) || (heads > 1 && head < width)) return false;
    if (tokens == 1 || heads == 1 || token >= head * (heads - 1) + width ||
        head >= token * (tokens - 1) + width)
      return true;
    // If neither stride spans the other: for each a, only the two nearest b can overlap.
    for (std::size_t a = 1; a < tokens; ++a) {
      auto const b = a * token / head, rest = a * token % head;
      if (b >= heads) break;
      if (rest < width || (b + 1 < heads && head - rest < width)) return false;
    }
    return true;
  }

  E* data_;
  heads_shape shape_;
  heads_strides strides_;
};

}  // namespace detail

/// The address of a heads_view whose tokens, and whose heads, are equally far apart.
struct at_strides {
  using shape = heads_shape;      ///< what a view is told: [tokens][heads][head_dim]
  using strides = heads_strides;  ///< in elements, or in bytes of a format
  template <class E>
  using of = detail::strided_address<E>;  ///< of numbers or of bytes
};

}}  // namespace posenc
