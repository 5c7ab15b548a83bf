// Heads of a plan as views, compiled for each instruction set. (Included by set.cpp alone.)
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "formats.hpp"
#include "posenc/core/format.hpp"
#include "posenc/core/heads_in_format.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/overlap.hpp"
#include "set.hpp"

namespace posenc_kernels {
namespace {

/// The address of heads that were checked, of a plan that outlives it.
template <class E>
class planned_address {
 public:
  planned_address(E*, posenc::heads_shape const& shape, places const* at) noexcept
      : at_(at), tokens_(shape.tokens), heads_(shape.heads), width_(shape.head_dim) {}

  std::size_t tokens() const noexcept { return tokens_; }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t width() const noexcept { return width_; }
  std::ptrdiff_t head_stride() const noexcept { return strides().head; }
  /// Of tokens in one page.
  posenc::heads_strides strides() const noexcept {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(E));
    return {at_->token / size, at_->head / size};
  }
  bool has(std::size_t t) const noexcept { return at_->has(t); }
  E* token(std::size_t t) const noexcept { return at(t, 0); }
  E* at(std::size_t t, std::size_t head) const noexcept {
    return reinterpret_cast<E*>(at_->at(t) + static_cast<std::ptrdiff_t>(head) * at_->head);
  }
  posenc::memory_range memory() const noexcept { return {}; }  // was compared before
  posenc::detail::strided_memory strided() const noexcept { return {}; }

 protected:
  void narrow_heads(std::size_t, std::size_t) = delete;  // plans have parts
  void narrow_tokens(std::size_t, std::size_t) = delete;

 private:
  places const* at_;
  std::size_t tokens_, heads_, width_;
};

struct as_planned {
  using shape = posenc::heads_shape;
  using strides = places const*;
  template <class E>
  using of = planned_address<E>;
};

/// A format that is known at run time.
struct any_format {
  stored_heads const* heads;

  std::size_t bytes(std::size_t) const noexcept { return 1; }  // strides say the same
  std::size_t scale_bytes(std::size_t) const noexcept { return 1; }
  void encode(std::span<float const> head, std::byte* to, std::byte* scales) const noexcept {
    posenc::detail::heads_to_encode one(head, to, scales);
    encode_some(one);
  }
  void encode_some(posenc::detail::heads_to_encode& some) const noexcept {
    with_format(*heads, [&]<class Format>(Format const& format) {
      if constexpr (posenc::scaled_format<Format>) {  // quicker one by one
        for (; some.count != 0; some.next()) format.encode(some.head(), some.to, some.scales);
      } else {
        posenc::detail::encode(format, some);
      }
    });
  }
  void decode(std::byte const* from, std::byte const* scales,
              std::span<float> head) const noexcept {
    with_format(*heads, [&]<class Format>(Format const& format) {
      if constexpr (posenc::scaled_format<Format>) {
        format.decode(from, scales, head);
      } else {
        format.decode(from, head);
      }
    });
  }
};

/// Heads in a format: one that is known, or any. Format: const where they are only read.
template <class Format>
auto view_of(std::remove_const_t<Format> const& format, stored_heads const& s,
             posenc::heads_shape const& shape) noexcept {
  using view = posenc::heads_view<Format, as_planned>;
  std::conditional_t<std::is_const_v<Format>, void const, void>*const codes = s.codes.data,
                                                                      *const scales = s.scales.data;
  if constexpr (view::is_scaled) {
    return view(format, codes, shape, &s.codes, scales, &s.scales);
  } else {
    return view(format, codes, shape, &s.codes);
  }
}
template <class Format>
requires std::same_as<std::remove_const_t<Format>, any_format>
auto view_of(stored_heads const& s, posenc::heads_shape const& shape) noexcept {
  return view_of<Format>(any_format{&s}, s, shape);
}
/// Heads of numbers.
template <class T>
posenc::heads_view<T, as_planned> numbers_at(places const& at,
                                             posenc::heads_shape const& shape) noexcept {
  return {reinterpret_cast<T*>(at.data), shape, &at};
}

}  // namespace
}  // namespace posenc_kernels
