// Where the bytes of a cache's pages are.
#pragma once

#include <cstddef>
#include <type_traits>

#include "posenc/core/paged_heads.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// The unit of a cache's views. Nothing is computed with it.
struct [[gnu::may_alias]] cached_byte {
  std::byte value;
};

}  // namespace detail

template <>
struct storage_format<detail::cached_byte> : stored_as<detail::cached_byte> {};

/// The first byte of the first page, and the strides to all others.
template <class Void>
struct bytes_at {
  Void* data;             ///< void*, or void const* to read
  pages_strides strides;  ///< in bytes, of either sign
};
template <class T>
bytes_at(T*, pages_strides) -> bytes_at<std::conditional_t<std::is_const_v<T>, void const, void>>;

}  // namespace posenc
