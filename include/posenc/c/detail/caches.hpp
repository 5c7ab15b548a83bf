// posenc.h: what an engine asks of its cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/planned_heads.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/c/detail/views.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/page_bounds.hpp"
#include "posenc/heads/slots.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

POSENC_C_FUNCTION posenc1_status posenc1_ring_slots(size_t first, size_t count, size_t capacity,
                                                    int64_t* slots) {
  return guarded([&] {
    constexpr auto function = "posenc1_ring_slots";
    if (count != 0) require_given(function, {{"slots", slots}});
    require_ring(function, count, capacity);
    write_ring_slots(first, capacity, {slots, count});
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_page_bounds(posenc1_heads const* keys, size_t tokens,
                                                     size_t heads, size_t head_dim,
                                                     size_t page_tokens, void* bounds) {
  return guarded([&] {
    constexpr auto function = "posenc1_page_bounds";
    require_given(function, {{"keys", keys}});
    require_dim(function, "head_dim", head_dim);
    require(page_tokens > 0, function, ": pages must have a token, got 0");
    if (tokens == 0 || heads == 0) return;
    require_given(function, {{"bounds", bounds}});
    checked_heads checked_keys;
    check({function, "keys"}, *keys, {1, tokens, heads, head_dim}, false, checked_keys);
    bool const doubles = checked_keys.format == 0u + POSENC1_F64;
    require_aligned(function, "bounds", bounds, doubles ? 8 : 4);
    auto const stored = checked_keys.stored();
    heads_shape const shape{tokens, heads, head_dim};
    auto const pages = tokens / page_tokens + (tokens % page_tokens != 0 ? 1 : 0);
    auto const write = [&]<class Real>(auto const& view, Real* first) {
      page_bounds(view, page_tokens, {first, pages * heads * 2 * head_dim});
    };
    if (doubles)
      return write(c_set::numbers_at<double const>(stored.codes, shape),
                   static_cast<double*>(bounds));
    c_set::decoded_format const format{&stored};
    write(c_set::view_of<c_set::decoded_format const>(format, stored, shape),
          static_cast<float*>(bounds));
  });
}

}}}  // namespace posenc::detail::c
