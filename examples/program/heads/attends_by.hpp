// Whether heads attend by position or by content, measured on queries and keys of one's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "posenc/analysis/positional_symbolic.hpp"
#include "posenc/query_key/rope.hpp"
#include "reporting/terminal_chart.hpp"

namespace heads {

struct places_of_heads {
  std::string title = {};
  std::vector<posenc::positional_symbolic_score> heads = {};
};

/// Means over `query`, or over at most 16 queries, evenly among those that see two keys; each sees
/// the keys up to its own. At least two tokens, and a query of at least 1.
template <class Layout>
std::vector<posenc::positional_symbolic_score> attend_by(posenc::heads_view<double const> q,
                                                         posenc::heads_view<double const> k,
                                                         posenc::rope<Layout> const& encoding,
                                                         std::optional<std::size_t> query,
                                                         std::size_t exchanges) {
  auto const seen = query ? 1 : std::min<std::size_t>(16, q.tokens() - 1);
  std::vector<posenc::positional_symbolic_score> means(q.heads(), {0, 0});
  for (std::size_t i = 1; i <= seen; ++i) {
    auto const t = query.value_or((q.tokens() - 1) * i / seen);
    auto const at = static_cast<std::int64_t>(t);
    auto const found = posenc::positional_symbolic(q.slice_tokens(t, 1), k.slice_tokens(0, t + 1),
                                                   encoding, {.query_positions = std::span(&at, 1)},
                                                   {.exchanges = exchanges});
    for (std::size_t head = 0; head < means.size(); ++head) {
      means[head].positional += found[head].positional / static_cast<double>(seen);
      means[head].symbolic += found[head].symbolic / static_cast<double>(seen);
    }
  }
  return means;
}

void print(std::ostream& out, places_of_heads const& of, charts::terminal_style style);
void write_csv(std::ostream& out, places_of_heads const& of);
std::string to_svg(places_of_heads const& of);

}  // namespace heads
