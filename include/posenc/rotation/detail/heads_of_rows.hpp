// A part of the heads that are rotated, and how rows that differ by head are shared out to it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Tokens and heads of a view.
struct part_of_heads {
  std::size_t token, tokens, head, heads;
};

/// Calls act(rows of one head, a part of the part) for all heads of a part, of `heads` heads.
template <class Real>
POSENC_ALWAYS_INLINE inline void for_heads_of_rows(cos_sin_view<Real> const& rows,
                                                   std::size_t heads, part_of_heads const& part,
                                                   auto const& act) {
  if (rows.heads() == 1) return act(rows, part);
  auto const group = heads / rows.heads(), end = part.head + part.heads;
  for (auto head = part.head; head < end;) {
    auto const of_rows = head / group, last = std::min((of_rows + 1) * group, end);
    auto const own = rows.of_head(of_rows);
    act(own, part_of_heads{part.token, part.tokens, head, last - head});
    head = last;
  }
}

}}}  // namespace posenc::detail
