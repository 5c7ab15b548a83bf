// Head vectors in a paged cache: one slot per token, in any order.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "posenc/core/compiler.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

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

}  // namespace detail

/// Of [pages][page_tokens][heads][head_dim].
struct pages_shape {
  std::size_t pages = 0,  ///< in all
      page_tokens = 0,    ///< of each page
      heads = 0,          ///< of each token
      head_dim = 0;       ///< of each head
};

/// Distance from one page, token or head to the next.
struct pages_strides {
  std::ptrdiff_t page = 0, token = 0, head = 0;  ///< in elements, of either sign
};

/// The heads of as many tokens as there are slots. Token t is in slot slots[t] = page * page_tokens
/// + token within the page. Tokens with a negative slot, as the padding of a batch has, are
/// skipped. Slots may repeat; tokens are processed in order.
///
///     dense, or {.page = n * h * d, .token = h * d, .head = d}
///                   pages of [tokens][heads][head_dim]      FlashInfer's NHD, vLLM's flash
///     {.page = h * n * d, .token = d, .head = n * d}
///                   pages of [heads][tokens][head_dim]      FlashInfer's HND
///     {.page = 2 * n * h * d, .token = h * d, .head = d}, values from data + n * h * d on
///                   pages of [keys, values][tokens][heads][head_dim]    FlashInfer's one tensor
///
/// A view: it owns nothing, and the slots, of std::int64_t, must outlive it. data: as heads_view's.
template <class T>
class paged_heads {
 public:
  using element_type = T;  ///< const T where the heads are only read

  /// Of dense pages, [pages][page_tokens][heads][head_dim].
  template <class Slots>
  paged_heads(detail::elements_at<T> data, pages_shape const& shape, Slots const& slots)
      : paged_heads(data, shape,
                    {static_cast<std::ptrdiff_t>(shape.page_tokens * shape.heads * shape.head_dim),
                     static_cast<std::ptrdiff_t>(shape.heads * shape.head_dim),
                     static_cast<std::ptrdiff_t>(shape.head_dim)},
                    slots) {}
  /// slots: [tokens]. Throws where heads_view would, if pages overlap, or if a slot is beyond them.
  template <class Slots>
  paged_heads(detail::elements_at<T> data, pages_shape const& shape, pages_strides const& strides,
              Slots const& slots)
      : page_(data, {shape.pages == 0 ? 0 : shape.page_tokens, shape.heads, shape.head_dim},
              // One load per stride: a load of both waits until two stores of 8 bytes are done.
              {detail::anew_in_each_turn(strides.token), strides.head}),
        page_stride_(strides.page),
        slots_(in_64_bits(slots)),
        memory_(page_.memory()) {
    if (shape.pages > 1 && memory_.first != memory_.last) {
      auto const page = (memory_.last - memory_.first) / sizeof(T);
      detail::require(strides.page > 0 && static_cast<std::size_t>(strides.page) >= page,
                      "paged_heads: pages must not overlap, got pages of ", page,
                      " elements with stride ", strides.page);
      auto const room =
          static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T) - page;
      detail::require(static_cast<std::size_t>(strides.page) <= room / (shape.pages - 1),
                      "paged_heads: the pages must fit into memory, got ", shape.pages,
                      " of stride ", strides.page);
      memory_.last += (shape.pages - 1) * static_cast<std::size_t>(strides.page) * sizeof(T);
    }
    auto const size = page_.tokens() == 0 ? 0 : shape.pages * shape.page_tokens;
    for (std::size_t t = 0; t < slots_.size(); ++t) {
      detail::require(slots_[t] < 0 || static_cast<std::uint64_t>(slots_[t]) < size,
                      "paged_heads: a slot must be below ", size, " (", shape.pages, " pages of ",
                      shape.page_tokens, " tokens), got ", slots_[t], " for token ", t);
    }
  }

  std::size_t tokens() const noexcept { return slots_.size(); }       ///< as many as slots
  std::size_t heads() const noexcept { return page_.heads(); }        ///< of each token
  std::size_t head_dim() const noexcept { return page_.head_dim(); }  ///< of each head, contiguous

  /// The first head of a token, null if it has no slot or there are no heads.
  T* token(std::size_t token) const noexcept {
    if (slots_[token] < 0 || heads() == 0) return nullptr;
    auto const slot = static_cast<std::size_t>(slots_[token]);
    // Most pages have a power of 2 of tokens, where a shift replaces the slower division.
    auto const tokens = page_.tokens(), page = std::has_single_bit(tokens)
                                                   ? slot >> std::countr_zero(tokens)
                                                   : slot / tokens;
    return page_.token(slot - page * tokens) + static_cast<std::ptrdiff_t>(page) * page_stride_;
  }
  std::ptrdiff_t head_stride() const noexcept { return page_.strides().head; }  ///< in elements

  /// `count` tokens, or heads, from `first` on. Throws if they reach beyond this view.
  paged_heads slice_tokens(std::size_t first, std::size_t count) const {
    detail::require_slice("paged_heads", "tokens", first, count, tokens());
    auto slice = *this;
    slice.slots_ = slots_.subspan(first, count);
    return slice;
  }
  /// Likewise, of the heads of every token.
  paged_heads slice_heads(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.page_ = page_.slice_heads(first, count);
    return slice;
  }

  /// All pages, gaps included; those of a slice are the whole's.
  memory_range memory() const noexcept { return memory_; }
  /// As may_overlap has it, of a slice its heads alone.
  detail::strided_memory strided() const noexcept {
    auto all = page_.strided();
    if (page_stride_ > 0) {
      auto const stride = static_cast<std::uintptr_t>(page_stride_) * sizeof(T);
      all.of_head[2] = {(memory_.last - 1 - memory_.first) / stride + 1, stride};
    }
    return all;
  }
  /// Whether these and other are different slots of the same pages.
  template <class U>
  requires std::same_as<std::remove_const_t<T>, std::remove_const_t<U>>
  bool has_other_slots(paged_heads<U> const& other) const noexcept {
    return page_.data() == other.page_.data() && page_.tokens() == other.page_.tokens() &&
           page_.strides() == other.page_.strides() && page_stride_ == other.page_stride_ &&
           !detail::share_a_slot(slots_, other.slots_);
  }

 private:
  template <class U>
  friend class paged_heads;
  template <class Slots>
  static std::span<std::int64_t const> in_64_bits(Slots const& slots) noexcept {
    static_assert(std::convertible_to<Slots const&, std::span<std::int64_t const>>,
                  "posenc: the slots of paged_heads must be of std::int64_t");
    return slots;
  }

  heads_view<T> page_;  // the first one
  std::ptrdiff_t page_stride_;
  std::span<std::int64_t const> slots_;
  memory_range memory_;
};

template <class T, class Slots>
paged_heads(T*, pages_shape, Slots const&) -> paged_heads<T>;
template <class T, class Slots>
paged_heads(T*, pages_shape, pages_strides, Slots const&) -> paged_heads<T>;

/// The slots of the tokens of sequences, one after another, from a block table, [sequences][pages]:
/// the pages of each. Made once per step, for the keys and values of every layer:
///
///     auto const read = slots_of(table, lengths, page_tokens);
///     attention(q, paged_heads(keys, shape, read), paged_heads(values, shape, read), encoding,
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

/// Throws, as `whose...` error, if a slot that is not negative comes twice.
void require_each_slot_once(std::span<std::int64_t const> slots, auto const&... whose) {
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
      require(slots[t] < slots[first] || slots[t] > slots[next - 1], whose...,
              ": a slot must be written once, got slot ", slots[t], " again for token ", t);
  }
}

}  // namespace detail
}  // namespace posenc
