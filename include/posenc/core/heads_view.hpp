// A strided view of heads, [tokens][heads][head_dim]: queries, keys, values, embeddings (one head).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "posenc/core/memory_range.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Of [tokens][heads][head_dim].
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

/// Where elements are: T*, or the words of an engine, where T is as<half> or as<bfloat16>.
template <class T>
struct elements_at {
  T* first;
  elements_at(T* elements) noexcept : first(elements) {}
  elements_at(
      std::conditional_t<std::is_const_v<T>, std::uint16_t const, std::uint16_t>* words) noexcept
      requires std::same_as<std::remove_const_t<T>, as<storage_format_t<T>>>
      : first(reinterpret_cast<T*>(words)) {}
};

/// Throws, in the name of a view, unless [first, first + count) lies within [0, size).
inline void require_slice(char const* view, char const* what, std::size_t first, std::size_t count,
                          std::size_t size) {
  require(first <= size && count <= size - first, view, ": a slice of ", what,
          " must lie within [0, ", size, "), got first ", first, ", count ", count);
}

}  // namespace detail

/// A view: a copy refers to the same memory. Zero tokens or heads make an empty view. data: T*, or
/// an engine's std::uint16_t*, where T is as<half> or as<bfloat16>. Throws std::invalid_argument if
/// head_dim is 0, if data is null but the view is not empty, if the extent overflows, or, unless T
/// is const, if two heads overlap in memory. (With stride 0, all heads that are read may be one.)
template <class T>
class heads_view {
  static_assert(storable<T>,
                "posenc: elements must be float, double, half, bfloat16 or a type with a "
                "storage_format; 16-bit words are as<half> or as<bfloat16>");

 public:
  using element_type = T;  ///< const T where the heads are only read

  /// Contiguous: one head vector after another.
  heads_view(detail::elements_at<T> data, heads_shape shape)
      : heads_view(data, shape,
                   {static_cast<std::ptrdiff_t>(shape.heads * shape.head_dim),
                    static_cast<std::ptrdiff_t>(shape.head_dim)}) {}
  /// With gaps between tokens or heads, or heads before tokens.
  [[gnu::always_inline]] heads_view(detail::elements_at<T> data, heads_shape shape,
                                    heads_strides strides)
      : data_(data.first), shape_(shape), strides_(strides) {
    check(data_, shape.tokens, shape.heads, shape.head_dim, strides.token, strides.head);
  }
  /// Any view converts to a read-only one.
  template <std::same_as<std::remove_const_t<T>> U>
  heads_view(heads_view<U> const& other) noexcept
      : data_(other.data()), shape_(other.shape()), strides_(other.strides()) {}

  T* data() const noexcept { return data_; }                          ///< of token 0, head 0
  heads_shape const& shape() const noexcept { return shape_; }        ///< [tokens][heads][head_dim]
  heads_strides const& strides() const noexcept { return strides_; }  ///< in elements
  std::size_t tokens() const noexcept { return shape_.tokens; }       ///< the first extent
  std::size_t heads() const noexcept { return shape_.heads; }         ///< of each token
  std::size_t head_dim() const noexcept { return shape_.head_dim; }   ///< of each head, contiguous

  /// One head. Precondition, not checked: token < tokens(), head < heads().
  std::span<T> operator()(std::size_t token, std::size_t head) const noexcept {
    return {data_ + static_cast<std::ptrdiff_t>(token) * strides_.token +
                static_cast<std::ptrdiff_t>(head) * strides_.head,
            head_dim()};
  }

  /// As paged_heads has it: the first head of a token, null if there are no heads.
  T* token(std::size_t token) const noexcept {
    return heads() == 0 ? nullptr : data_ + static_cast<std::ptrdiff_t>(token) * strides_.token;
  }
  std::ptrdiff_t head_stride() const noexcept { return strides_.head; }  ///< in elements

  /// From the lowest byte to one beyond the highest, gaps included.
  memory_range memory() const noexcept { return strided().all(); }
  /// The same, as may_overlap has it.
  detail::strided_memory strided() const noexcept {
    if (tokens() == 0 || heads() == 0) return {};
    auto first = reinterpret_cast<std::uintptr_t>(data_);  // may be outside the array
    auto const repeated = [&](std::size_t count, std::ptrdiff_t stride) {
      auto const n = static_cast<std::uintptr_t>(stride) * sizeof(T);
      if (stride < 0) first += (count - 1) * n;
      return detail::strided_memory::repetition{count, stride < 0 ? 0 - n : n};
    };
    auto const token = repeated(tokens(), strides_.token), head = repeated(heads(), strides_.head);
    return {{first, first + head_dim() * sizeof(T)}, {{token, head, {}}}};
  }

  /// `count` tokens, from `first` on. Throws if they reach beyond the view.
  heads_view slice_tokens(std::size_t first, std::size_t count) const {
    detail::require_slice("heads_view", "tokens", first, count, shape_.tokens);
    auto slice = *this;
    if (count > 0 && heads() > 0) slice.data_ = token(first);
    slice.shape_.tokens = count;
    return slice;
  }
  /// `count` heads of every token, from `first` on. Throws if they reach beyond the view.
  heads_view slice_heads(std::size_t first, std::size_t count) const {
    detail::require_slice("heads_view", "heads", first, count, shape_.heads);
    auto slice = *this;
    if (count > 0 && tokens() > 0)
      slice.data_ += static_cast<std::ptrdiff_t>(first) * strides_.head;
    slice.shape_.heads = count;
    return slice;
  }
  /// `count` dims of every head, from `first` on. Throws if they reach beyond the head or are none.
  heads_view slice_dims(std::size_t first, std::size_t count) const {
    detail::require_slice("heads_view", "dims", first, count, shape_.head_dim);
    detail::require(count > 0, "heads_view: a slice of dims must not be empty");
    auto slice = *this;
    if (data_ != nullptr) slice.data_ = data_ + first;
    slice.shape_.head_dim = count;
    return slice;
  }

 private:
  // Six arguments: a call has registers for six, and structs would go through memory.
  static void check(T const* data, std::size_t tokens, std::size_t heads, std::size_t dim,
                    std::ptrdiff_t token_stride, std::ptrdiff_t head_stride) {
    detail::require(dim > 0, "heads_view: head_dim must be positive, got 0");
    if (tokens == 0 || heads == 0) return;
    detail::require(data != nullptr, "heads_view: data must not be null for ", tokens, " tokens x ",
                    heads, " heads");
    auto const magnitude = [](std::ptrdiff_t stride) {
      return stride < 0 ? 0 - static_cast<std::size_t>(stride) : static_cast<std::size_t>(stride);
    };
    auto const token = magnitude(token_stride), head = magnitude(head_stride);
    detail::require(fits_into_memory(tokens, heads, dim, token, head),
                    "heads_view: the view must fit into memory, got ", tokens, " tokens of stride ",
                    token_stride, " and ", heads, " heads of stride ", head_stride);
    if constexpr (!std::is_const_v<T>)
      detail::require(is_disjoint(tokens, heads, dim, token, head),
                      "heads_view: heads that are written to must not overlap, got head_dim ", dim,
                      " with ", tokens, " tokens of stride ", token_stride, " and ", heads,
                      " heads of stride ", head_stride);
  }

  static bool fits_into_memory(std::size_t tokens, std::size_t heads, std::size_t dim,
                               std::size_t token, std::size_t head) noexcept {
    auto room = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
    auto const take = [&](std::size_t steps, std::size_t size) {
      // A division costs as much as rotating a head.
      constexpr auto root = std::size_t{1} << std::numeric_limits<std::size_t>::digits / 2;
      bool const fits =
          steps < root && size < root ? steps * size <= room : steps == 0 || size <= room / steps;
      if (fits) room -= steps * size;
      return fits;
    };
    return take(1, dim) && take(tokens - 1, token) && take(heads - 1, head);
  }

  // Whether |a * token + b * head| >= dim for all steps (a, b) != (0, 0) within the view.
  static bool is_disjoint(std::size_t tokens, std::size_t heads, std::size_t dim, std::size_t token,
                          std::size_t head) noexcept {
    if ((tokens > 1 && token < dim) || (heads > 1 && head < dim)) return false;
    if (tokens == 1 || heads == 1 || token >= head * (heads - 1) + dim ||
        head >= token * (tokens - 1) + dim)
      return true;
    // If neither stride spans the other: for each a, only the two nearest b can overlap.
    for (std::size_t a = 1; a < tokens; ++a) {
      auto const b = a * token / head, rest = a * token % head;
      if (b >= heads) break;
      if (rest < dim || (b + 1 < heads && head - rest < dim)) return false;
    }
    return true;
  }

  T* data_;
  heads_shape shape_;
  heads_strides strides_;
};

template <class T>
heads_view(T*, heads_shape, heads_strides = {}) -> heads_view<T>;

}  // namespace posenc
