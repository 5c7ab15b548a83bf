// The address of heads in the pages of a cache: one slot per token, in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/fits_into_memory.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/at_strides.hpp"
#include "posenc/heads/detail/slot_search.hpp"
#include "posenc/heads/overlap.hpp"
#include "posenc/heads/slots.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The shape of pages, [pages][page_tokens][heads][head_dim].
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

namespace detail {

/// As the slots of a view: token t is in slot t.
struct slots_in_order {
  std::size_t tokens;
};

/// As strided_address, in the slots of pages.
template <class E>
class paged_address {
 public:
  template <class Slots>
  paged_address(E* data, pages_shape const& shape, Slots const& slots)
      : paged_address(
            data, shape,
            {static_cast<std::ptrdiff_t>(shape.page_tokens * shape.heads * shape.head_dim),
             static_cast<std::ptrdiff_t>(shape.heads * shape.head_dim),
             static_cast<std::ptrdiff_t>(shape.head_dim)},
            slots) {}
  template <class Slots>
  paged_address(E* data, pages_shape const& shape, pages_strides const& strides, Slots const& slots)
      : page_(data, {shape.pages == 0 ? 0 : shape.page_tokens, shape.heads, shape.head_dim},
              // One load per stride: a load of both waits until two stores of 8 bytes are done.
              {opaque(strides.token), strides.head}),
        page_stride_(strides.page),
        pages_(shape.pages) {
    if (shape.pages > 1 && page_.tokens() != 0 && heads() != 0) check_pages();
    memory_ = strided().all();
    auto const size = page_.tokens() == 0 ? 0 : shape.pages * shape.page_tokens;
    if constexpr (std::same_as<Slots, slots_in_order>) {
      tokens_ = slots.tokens;
      require(tokens_ <= size,
              "heads_view: pages must have room for all tokens where slots are not given, got ",
              size, " for ", tokens_);
    } else {
      auto const all = in_64_bits(slots);
      slots_ = all.empty() ? &no_slot : all.data();
      tokens_ = all.size();
      for (std::size_t t = 0; t < tokens_; ++t) {
        require(slots_[t] < 0 || size != 0,
                "heads_view: there must be pages that have tokens, got ", shape.pages, " pages of ",
                shape.page_tokens, " tokens for slot ", slots_[t]);
        require(slots_[t] < 0 || static_cast<std::uint64_t>(slots_[t]) < size,
                "heads_view: a slot must be below ", size, " (", shape.pages, " pages of ",
                shape.page_tokens, " tokens), got ", slots_[t], " for token ", t);
      }
    }
  }
  template <std::same_as<std::remove_const_t<E>> U>
  paged_address(paged_address<U> const& other) noexcept
      : page_(other.page_),
        page_stride_(other.page_stride_),
        pages_(other.pages_),
        slots_(other.slots_),
        first_(other.first_),
        tokens_(other.tokens_),
        memory_(other.memory_) {}

  std::size_t tokens() const noexcept { return tokens_; }       ///< as many as slots
  std::size_t heads() const noexcept { return page_.heads(); }  ///< of each token
  std::size_t width() const noexcept { return page_.width(); }  ///< elements of a head

  /// Whether a token has a slot.
  bool has(std::size_t token) const noexcept { return slots_ == nullptr || slots_[token] >= 0; }
  bool has_all() const noexcept {  ///< tokens
    std::int64_t signs = 0;
    for (auto const slot : slots()) signs |= slot;
    return signs >= 0;
  }
  /// The first head of a token, null if it has no slot or there are no heads.
  E* token(std::size_t token) const noexcept {
    return has(token) && heads() != 0 ? some_token(token) : nullptr;
  }
  std::ptrdiff_t head_stride() const noexcept { return page_.strides().head; }  ///< in elements
  /// A head; that of slot 0 for a token without a slot, so that what hides the token may read it.
  E* at(std::size_t t, std::size_t head) const noexcept {
    return some_token(t) + static_cast<std::ptrdiff_t>(head) * head_stride();
  }

  /// From the lowest byte of all pages to one beyond the highest, gaps included.
  memory_range memory() const noexcept { return memory_; }
  /// The same, as may_overlap has it.
  strided_memory strided() const noexcept {
    auto all = page_.strided();
    if (pages_ > 1 && all.head.first != all.head.last)
      all.repeat(2, pages_, page_stride_, sizeof(E));
    return all;
  }
  /// Whether these and other are different slots of the same pages.
  template <class U>
  requires std::same_as<std::remove_const_t<E>, std::remove_const_t<U>>
  bool has_other_slots(paged_address<U> const& other) const noexcept {
    return slots_ != nullptr && other.slots_ != nullptr && page_.data() == other.page_.data() &&
           page_.tokens() == other.page_.tokens() && heads() == other.heads() &&
           width() == other.width() && page_.strides() == other.page_.strides() &&
           page_stride_ == other.page_stride_ && pages_ == other.pages_ &&
           !share_a_slot(slots(), other.slots());
  }
  /// The slots of the tokens; empty if none were given.
  std::span<std::int64_t const> slots() const noexcept {
    return {slots_, slots_ == nullptr ? 0 : tokens_};
  }

 protected:
  void narrow_tokens(std::size_t first, std::size_t count) {
    require_slice("tokens", first, count, tokens());
    if (slots_ == nullptr) {
      first_ += first;
    } else {
      slots_ += first;
    }
    tokens_ = count;
  }
  void narrow_heads(std::size_t first, std::size_t count) {
    page_.narrow_heads(first, count);
    memory_ = strided().all();
  }

 private:
  template <class U>
  friend class paged_address;
  E* some_token(std::size_t token) const noexcept {
    auto const slot = slots_ == nullptr
                          ? first_ + token
                          : static_cast<std::size_t>(std::max<std::int64_t>(slots_[token], 0));
    // Most pages have a power of 2 of tokens, where a shift replaces the slower division.
    auto const tokens = page_.tokens(), page = std::has_single_bit(tokens)
                                                   ? slot >> std::countr_zero(tokens)
                                                   : slot / tokens;
    return page_.token(slot - page * tokens) + static_cast<std::ptrdiff_t>(page) * page_stride_;
  }
  struct page_address : strided_address<E> {
    using strided_address<E>::strided_address;
    using strided_address<E>::narrow_heads;
  };
  template <class Slots>
  static std::span<std::int64_t const> in_64_bits(Slots const& slots) noexcept {
    static_assert(std::convertible_to<Slots const&, std::span<std::int64_t const>>,
                  "posenc: the slots of a heads_view must be of std::int64_t");
    return slots;
  }
  void check_pages() const {
    auto const memory = page_.memory();
    auto const page = (memory.last - memory.first) / sizeof(E);
    require(fits_into_memory(room_of_memory(sizeof(E)), page, repeated{pages_, page_stride_}),
            "heads_view: the pages must fit into memory, got ", pages_, " of stride ",
            page_stride_);
    if constexpr (!std::is_const_v<E>)
      require(magnitude(page_stride_) >= page || strided().is_nested(),
              "heads_view: pages must not overlap, got pages of ", page,
              sizeof(E) == 1 ? " bytes with stride " : " elements with stride ", page_stride_);
  }

  static constexpr std::int64_t no_slot = -1;

  page_address page_;  // the first one
  std::ptrdiff_t page_stride_;
  std::size_t pages_;
  std::int64_t const* slots_ = nullptr;  // null: from first_ on, in order
  std::size_t first_ = 0;
  std::size_t tokens_;
  memory_range memory_;  // found once: each check of an overlap asks for it
};

}  // namespace detail

/// The address of a heads_view in the slots of pages. Token t is in slot slots[t] = page *
/// page_tokens + token within the page. Tokens with a negative slot, as the padding of a batch has,
/// are skipped. Slots may repeat where numbers are written: tokens are processed in order
/// (in place, each of them rotates what the one before left).
///
///     dense, or {.page = n * h * d, .token = h * d, .head = d}
///                   pages of [tokens][heads][head_dim]      FlashInfer's NHD, vLLM's flash
///     {.page = h * n * d, .token = d, .head = n * d}
///                   pages of [heads][tokens][head_dim]      FlashInfer's HND
///     {.page = 2 * n * h * d, .token = h * d, .head = d}, values from data + n * h * d on
///                   pages of [keys, values][tokens][heads][head_dim]    FlashInfer's one tensor
///     {.page = 2 * h * n * d, .token = 2 * d, .head = 2 * n * d}, values from data + d on
///                   pages of [heads][tokens][keys, values][head_dim]    vLLM's interleaved
struct in_pages {
  using shape = pages_shape;      ///< what a view is told: [pages][page_tokens][heads][head_dim]
  using strides = pages_strides;  ///< in elements, or in bytes of a format
  template <class E>
  using of = detail::paged_address<E>;  ///< of numbers or of bytes
};

}}  // namespace posenc
