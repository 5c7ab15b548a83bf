// The slots of tokens in a cache: from a block table, or in a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The slots of the tokens of sequences, one after another, from a block table, [sequences][pages]:
/// the pages of each. Made once per step, for the keys and values of every layer:
///
///     auto const read = slots_of(table, lengths, page_tokens);
///     attention(q, heads_view(keys, shape, read), heads_view(values, shape, read), encoding,
///               {.mask = mask::causal & mask::packed(query_lengths, lengths)});
///     auto const written = slots_of(table, lengths, page_tokens, cached);     what the step adds
///
/// cached: how many tokens of each sequence to leave out, written by earlier steps. A negative page
/// is a hole, as engines mark pages that a window has left behind: its tokens have slot -1, which
/// attention hides and rotate leaves out. Throws std::invalid_argument unless each sequence has as
/// many pages, and one for each token, whose slots fit std::int64_t.
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
  constexpr auto most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < sequences; ++i) {
    auto const pages = all / sequences, first = cached.empty() ? 0 : cached[i];
    detail::require(first <= lengths[i], "slots_of: cached must be at most the length ", lengths[i],
                    ", got ", first, " for sequence ", i);
    for (auto t = first; t < lengths[i]; ++t) {
      auto const place = t / page_tokens;
      detail::require(place < pages, "slots_of: there must be a page for token ", t,
                      " of sequence ", i, ", got none");
      auto const page = std::data(table)[i * pages + place];
      if (std::cmp_less(page, 0)) {
        slots.push_back(-1);
        continue;
      }
      detail::require(page_tokens <= most &&
                          std::cmp_less_equal(page, (most - (page_tokens - 1)) / page_tokens),
                      "slots_of: the slots of a page must fit int64, got page ", page, " of ",
                      page_tokens, " tokens for token ", t, " of sequence ", i);
      slots.push_back(static_cast<std::int64_t>(page) * static_cast<std::int64_t>(page_tokens) +
                      static_cast<std::int64_t>(t % page_tokens));
    }
  }
  return slots;
}

namespace detail {

inline void require_ring(char const* function, std::size_t count, std::size_t capacity) {
  require(capacity > 0 && std::in_range<std::int64_t>(capacity), function,
          ": capacity must be positive and below 2^63, got ", capacity);
  require(count <= capacity, function, ": count must be at most the capacity ", capacity, ", got ",
          count);
}
/// Writes the slots of tokens from `first` on.
inline void write_ring_slots(std::size_t first, std::size_t capacity,
                             std::span<std::int64_t> slots) noexcept {
  auto slot = first % capacity;
  for (auto& of_token : slots) {
    of_token = static_cast<std::int64_t>(slot);
    slot = slot + 1 == capacity ? 0 : slot + 1;
  }
}

}  // namespace detail

/// The slots of `count` tokens from token `first` on in a cache that keeps the last `capacity`
/// tokens, as a ring: token t is in slot t % capacity, where it replaces token t - capacity.
///
///     auto const written = ring_slots(first, count, capacity);          what the step adds
///     auto const kept = std::min(first + count, capacity);
///     auto const read = ring_slots(first + count - kept, kept, capacity);  what attention reads
///
/// Slots are in the order of tokens, so that positions need not be given. With a window of w tokens
/// and steps of up to n tokens, capacity must be at least w + n - 1: the first query of a step sees
/// w - 1 tokens before it, which the step must not replace. Throws std::invalid_argument unless
/// capacity is positive and fits std::int64_t, and count is at most capacity.
inline std::vector<std::int64_t> ring_slots(std::size_t first, std::size_t count,
                                            std::size_t capacity) {
  detail::require_ring("ring_slots", count, capacity);
  std::vector<std::int64_t> slots(count);
  detail::write_ring_slots(first, capacity, slots);
  return slots;
}

namespace detail {

/// A type that may be slots; a view says of which numbers.
template <class Slots>
concept slot_list = requires(Slots const& slots) {
  std::data(slots), std::size(slots);
};

}  // namespace detail
}}  // namespace posenc
