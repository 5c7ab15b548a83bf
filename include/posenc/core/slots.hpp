// The slots of tokens in a paged cache: from a block table; runs of neighbours; repeated ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// The slots of the tokens of sequences, one after another, from a block table, [sequences][pages]:
/// the pages of each. Made once per step, for the keys and values of every layer:
///
///     auto const read = slots_of(table, lengths, page_tokens);
///     attention(q, heads_view(keys, shape, read), heads_view(values, shape, read), encoding,
///               {.mask = mask::causal & mask::packed(query_lengths, lengths)});
///     auto const written = slots_of(table, lengths, page_tokens, cached);     what the step adds
///
/// cached: how many tokens of each sequence to leave out, written by earlier steps. Throws
/// std::invalid_argument unless each sequence has as many pages, and one for each token.
template <integer_range Table>
std::vector<std::int64_t> slots_of(Table const& table, list_view<std::size_t> lengths,
                                   std::size_t page_tokens, list_view<std::size_t> cached = {}) {
  auto const sequences = lengths.size(), all = static_cast<std::size_t>(std::size(table));
  detail::require(page_tokens > 0, "slots_of: pages must have a token, got 0");
  detail::require(sequences == 0 ? all == 0 : all % sequences == 0,
                  "slots_of: there must be as many pages for each of ", sequences,
                  " sequences, got ", all);
  detail::require(cached.empty() || cached.size() == sequences, "slots_of: cached must be of ",
                  sequences, " sequences, got ", cached.size());
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < sequences; ++i) {
    auto const pages = all / sequences, first = cached.empty() ? 0 : cached[i];
    detail::require(first <= lengths[i], "slots_of: cached must be at most the length ", lengths[i],
                    ", got ", first, " for sequence ", i);
    for (auto t = first; t < lengths[i]; ++t) {
      auto const place = t / page_tokens;
      auto const page =
          place < pages ? static_cast<std::int64_t>(std::data(table)[i * pages + place]) : 0;
      detail::require(place < pages && page >= 0, "slots_of: there must be a page for token ", t,
                      " of sequence ", i, ", got ", place < pages ? "a negative one" : "none");
      slots.push_back(page * static_cast<std::int64_t>(page_tokens) +
                      static_cast<std::int64_t>(t % page_tokens));
    }
  }
  return slots;
}

namespace detail {

/// What may be slots; a view says of which type.
template <class Slots>
concept slot_list = requires(Slots const& slots) {
  std::data(slots), std::size(slots);
};

/// One beyond the run of neighbouring slots that begins at `first`.
inline std::size_t end_of_run(std::span<std::int64_t const> slots, std::size_t first) noexcept {
  do {
    ++first;
  } while (first < slots.size() && slots[first - 1] >= 0 && slots[first] == slots[first - 1] + 1);
  return first;
}
/// Whether a slot that is not negative is in both.
inline bool share_a_slot(std::span<std::int64_t const> a,
                         std::span<std::int64_t const> b) noexcept {
  for (std::size_t first = 0, next; first < a.size(); first = next) {
    next = end_of_run(a, first);
    for (auto const slot : b)
      if (slot >= 0 && slot >= a[first] && slot <= a[next - 1]) return true;
  }
  return false;
}

/// Throws if a slot that is not negative comes twice. Quick where slots ascend, or are runs of
/// neighbours, as pages have them.
inline void require_each_slot_once(std::span<std::int64_t const> slots) {
  std::int64_t last = -1;
  bool ascends = true;
  for (auto const slot : slots) {
    if (slot < 0) continue;
    ascends = ascends && slot > last, last = slot;
  }
  if (ascends) return;
  for (std::size_t first = 0, next; first < slots.size(); first = next) {
    next = end_of_run(slots, first);
    if (slots[first] < 0) continue;
    for (auto t = next; t < slots.size(); ++t)
      require(slots[t] < slots[first] || slots[t] > slots[next - 1],
              "heads_view: a slot must be written once, got slot ", slots[t], " again for token ",
              t);
  }
}

}  // namespace detail
}  // namespace posenc
