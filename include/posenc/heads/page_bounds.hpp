// The least and the largest keys of each page, by which sparse attention chooses pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Writes the bounds of pages, [pages][heads][2][head_dim]: for each head the least number of each
/// dim over the tokens of the page, then the largest. Page p has the tokens from p * page_tokens on
/// of the view; the last page may have fewer. The bounds limit a query's product with each key of
/// the page (Quest, arXiv 2406.10774):
///
///     <q, k>  <=  sum over dims of max(q[i] * least[i], q[i] * largest[i])
///
/// A step changes the bounds of the pages that it writes alone:
///
///     page_bounds(keys.slice_tokens(first_of_page, tokens_of_page), page_tokens, of_page);
///
/// bounds: float, or double for heads of double. Codes are bounded as they are decoded. Tokens
/// without a slot are left out; a page that has no other has bounds of 0. Allocates one head. Not
/// checked: numbers are not NaN, and bounds overlap no keys. Throws std::invalid_argument unless
/// page_tokens is positive and bounds has as many numbers.
template <any_heads Keys>
void page_bounds(Keys const& keys, std::size_t page_tokens,
                 std::span<arithmetic_t<typename Keys::element_type>> bounds) {
  using real = arithmetic_t<typename Keys::element_type>;
  detail::require(page_tokens > 0, "page_bounds: pages must have a token, got 0");
  auto const tokens = keys.tokens(), heads = keys.heads(), dim = keys.head_dim(),
             pages = tokens / page_tokens + (tokens % page_tokens != 0 ? 1 : 0);
  auto rest = bounds.size();
  bool is_whole = true;
  for (auto const n : {pages, heads, std::size_t{2}, dim})
    if (n != 0) is_whole = is_whole && rest % n == 0, rest /= n;
  detail::require(pages == 0 || heads == 0 ? bounds.empty() : is_whole && rest == 1,
                  "page_bounds: bounds must be [", pages, " pages][", heads, " heads][2][", dim,
                  " dims], got ", bounds.size(), " numbers");
  std::vector<real> head(dim);
  for (std::size_t p = 0; p < pages; ++p) {
    auto const first = p * page_tokens, end = first + std::min(page_tokens, tokens - first);
    for (std::size_t h = 0; h < heads; ++h) {
      auto const least = bounds.subspan((p * heads + h) * 2 * dim, dim),
                 largest = bounds.subspan((p * heads + h) * 2 * dim + dim, dim);
      bool is_first = true;
      for (auto t = first; t < end; ++t) {
        if (!keys.has(t)) continue;
        keys.read(t, h, head);
        for (std::size_t i = 0; i < dim; ++i) {
          least[i] = is_first || head[i] < least[i] ? head[i] : least[i];
          largest[i] = is_first || head[i] > largest[i] ? head[i] : largest[i];
        }
        is_first = false;
      }
      if (is_first) std::ranges::fill(least, real{0}), std::ranges::fill(largest, real{0});
    }
  }
}

}}  // namespace posenc
