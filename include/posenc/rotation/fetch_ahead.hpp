// Fetching ahead of reading, for data beyond the cache.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Fetches 8 KiB ahead of `count` pairs: far enough to hide memory latency, near enough to stay in
/// L1.
template <class Layout, class S>
[[gnu::always_inline]] inline void fetch_ahead(S const* pairs, std::size_t count,
                                               std::size_t all) noexcept {
  auto const fetch = [](S const* from, std::size_t bytes) POSENC_INLINED {
    auto const first = reinterpret_cast<std::uintptr_t>(from) + 8192;
    for (std::size_t i = 0; i < bytes; i += 64)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): beyond the array
      prefetch(reinterpret_cast<void const*>(first + i));
  };
  if constexpr (std::same_as<Layout, interleaved>) {
    fetch(pairs, 2 * count * sizeof(S));
  } else {
    fetch(pairs, count * sizeof(S)), fetch(pairs + all, count * sizeof(S));
  }
}

}  // namespace posenc::detail
