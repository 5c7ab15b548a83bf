// The bytes of a cache's pages: where they are, and whether two of them meet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// What views of a cache count in: they compute with none.
struct [[gnu::may_alias]] cached_byte {
  std::byte value;
};

}  // namespace detail

template <>
struct storage_format<detail::cached_byte> : stored_as<detail::cached_byte> {};

/// Addresses of pages, which other pages with the same stride may stand between.
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

/// Bytes of pages: the first one of the first page, and how far it is to others.
template <class Void>
struct bytes_at {
  Void* data;             ///< void*, or void const* to read
  pages_strides strides;  ///< in bytes, of either sign
};
template <class Void>
bytes_at(Void*, pages_strides) -> bytes_at<Void>;

}  // namespace posenc
