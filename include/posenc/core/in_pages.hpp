// The address of heads in the pages of a cache: one slot per token, in any order.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "posenc/core/at_strides.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/overlap.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/slots.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

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

namespace detail {

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
        slots_(in_64_bits(slots)),
        memory_(page_.memory()) {
    if (shape.pages > 1 && memory_.first != memory_.last) {
      auto const page = (memory_.last - memory_.first) / sizeof(E);
      require(strides.page > 0 && static_cast<std::size_t>(strides.page) >= page,
              "heads_view: pages must not overlap, got pages of ", page, " elements with stride ",
              strides.page);
      auto const room =
          static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(E) - page;
      require(static_cast<std::size_t>(strides.page) <= room / (shape.pages - 1),
              "heads_view: the pages must fit into memory, got ", shape.pages, " of stride ",
              strides.page);
      memory_.last += (shape.pages - 1) * static_cast<std::size_t>(strides.page) * sizeof(E);
    }
    auto const size = page_.tokens() == 0 ? 0 : shape.pages * shape.page_tokens;
    for (std::size_t t = 0; t < slots_.size(); ++t) {
      require(slots_[t] < 0 || static_cast<std::uint64_t>(slots_[t]) < size,
              "heads_view: a slot must be below ", size, " (", shape.pages, " pages of ",
              shape.page_tokens, " tokens), got ", slots_[t], " for token ", t);
    }
  }
  template <std::same_as<std::remove_const_t<E>> U>
  paged_address(paged_address<U> const& other) noexcept
      : page_(other.page_),
        page_stride_(other.page_stride_),
        slots_(other.slots_),
        memory_(other.memory_) {}

  std::size_t tokens() const noexcept { return slots_.size(); }  ///< as many as slots
  std::size_t heads() const noexcept { return page_.heads(); }   ///< of each token
  std::size_t width() const noexcept { return page_.width(); }   ///< elements of a head

  /// Whether a token has a slot.
  bool has(std::size_t token) const noexcept { return slots_[token] >= 0; }
  /// The first head of a token, null if it has no slot or there are no heads.
  E* token(std::size_t token) const noexcept {
    if (slots_[token] < 0 || heads() == 0) return nullptr;
    auto const slot = static_cast<std::size_t>(slots_[token]);
    // Most pages have a power of 2 of tokens, where a shift replaces the slower division.
    auto const tokens = page_.tokens(), page = std::has_single_bit(tokens)
                                                   ? slot >> std::countr_zero(tokens)
                                                   : slot / tokens;
    return page_.token(slot - page * tokens) + static_cast<std::ptrdiff_t>(page) * page_stride_;
  }
  std::ptrdiff_t head_stride() const noexcept { return page_.strides().head; }  ///< in elements
  /// A head. Precondition, not checked: the token has a slot.
  E* at(std::size_t t, std::size_t head) const noexcept {
    return token(t) + static_cast<std::ptrdiff_t>(head) * head_stride();
  }

  /// All pages, gaps included; those of a slice are the whole's.
  memory_range memory() const noexcept { return memory_; }
  /// As may_overlap has it, of a slice its heads alone.
  strided_memory strided() const noexcept {
    auto all = page_.strided();
    if (page_stride_ > 0) {
      auto const stride = static_cast<std::uintptr_t>(page_stride_) * sizeof(E);
      all.of_head[2] = {(memory_.last - 1 - memory_.first) / stride + 1, stride};
    }
    return all;
  }
  /// Whether these and other are different slots of the same pages.
  template <class U>
  requires std::same_as<std::remove_const_t<E>, std::remove_const_t<U>>
  bool has_other_slots(paged_address<U> const& other) const noexcept {
    return page_.data() == other.page_.data() && page_.tokens() == other.page_.tokens() &&
           page_.strides() == other.page_.strides() && page_stride_ == other.page_stride_ &&
           !share_a_slot(slots_, other.slots_);
  }
  /// Throws if two tokens have one slot.
  void require_each_slot_once() const { detail::require_each_slot_once(slots_); }

 protected:
  void narrow_tokens(std::size_t first, std::size_t count) {
    require_slice("tokens", first, count, tokens());
    slots_ = slots_.subspan(first, count);
  }
  void narrow_heads(std::size_t first, std::size_t count) { page_.narrow_heads(first, count); }

 private:
  template <class U>
  friend class paged_address;
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

  page_address page_;  // the first one
  std::ptrdiff_t page_stride_;
  std::span<std::int64_t const> slots_;
  memory_range memory_;
};

}  // namespace detail

/// The address of a heads_view in the slots of pages. Token t is in slot slots[t] = page *
/// page_tokens + token within the page. Tokens with a negative slot, as the padding of a batch has,
/// are skipped. Slots may repeat where numbers are written: tokens are processed in order.
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

}  // namespace posenc
