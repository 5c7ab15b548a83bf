// What a format of cached heads is.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// A format with all bytes of a head in one place. One of your own is used like the library's:
///
///     struct signs {                                        one bit per dim
///       std::size_t bytes(std::size_t head_dim) const;      of a head; throws if it has none such
///       void encode(std::span<float const> head, std::byte* to) const noexcept;
///       void decode(std::byte const* from, std::span<float> head) const noexcept;
///     };
template <class F>
concept inline_format = std::copyable<F> &&
    requires(F const& f, std::span<float const> head, std::byte* to, std::byte const* from,
             std::span<float> decoded) {
  { f.bytes(head.size()) } -> std::convertible_to<std::size_t>;
  f.encode(head, to);
  f.decode(from, decoded);
};

/// A format whose scales are elsewhere: it says also how many bytes they have, and takes both
/// addresses.
template <class F>
concept scaled_format = std::copyable<F> &&
    requires(F const& f, std::span<float const> head, std::byte* to, std::byte const* from,
             std::span<float> decoded) {
  { f.bytes(head.size()) } -> std::convertible_to<std::size_t>;
  { f.scale_bytes(head.size()) } -> std::convertible_to<std::size_t>;
  f.encode(head, to, to);
  f.decode(from, from, decoded);
};

/// inline_format or scaled_format.
template <class F>
concept cache_format = inline_format<F> || scaled_format<F>;

}  // namespace posenc
