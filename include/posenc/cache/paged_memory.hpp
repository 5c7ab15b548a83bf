// Where the pages of a cache lie in memory, and whether those of two caches overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
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

/// The addresses of pages that have one stride. Pages of another cache may lie between them.
struct paged_memory {
  memory_range all = {};    ///< from the first page to the last
  std::uintptr_t page = 0,  ///< bytes from a page's lowest to its highest
      stride = 0;           ///< from page to page, or 0 for a single range
  /// Whether a byte may be in both.
  friend bool may_overlap(paged_memory const& a, paged_memory const& b) noexcept {
    if (!overlap(a.all, b.all)) return false;
    if (a.stride == 0 || a.stride != b.stride) return true;
    auto const offset = (b.all.first % a.stride + a.stride - a.all.first % a.stride) % a.stride;
    return offset < a.page || offset + b.page > a.stride;
  }
};

/// The first byte of the first page, and the strides to all others.
template <class Void>
struct bytes_at {
  Void* data;             ///< void*, or void const* to read
  pages_strides strides;  ///< in bytes, of either sign
};
template <class T>
bytes_at(T*, pages_strides) -> bytes_at<std::conditional_t<std::is_const_v<T>, void const, void>>;

}  // namespace posenc
