// The view of heads: numbers in a format at an address. Queries, keys, values, embeddings.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/heads/at_strides.hpp"
#include "posenc/heads/in_pages.hpp"
#include "posenc/heads/overlap.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Where elements are: T*, or the words of an engine, where T is as<half> or as<bfloat16>.
template <class T>
struct elements_at {
  T* first;
  elements_at(T* elements) noexcept : first(elements) {}
  elements_at(
      std::conditional_t<std::is_const_v<T>, std::uint16_t const, std::uint16_t>* words) noexcept
      requires std::same_as<std::remove_const_t<T>, as<storage_format_t<T>>>
      : first(reinterpret_cast<T*>(words)) {}
};

}  // namespace detail

/// The heads of tokens, [tokens][heads][head_dim], where they lie: a copy refers to the same
/// memory.
///
///     heads_view q(numbers, {.tokens = 4, .heads = 32, .head_dim = 128});         contiguous
///     heads_view q(numbers, shape, {.token = 8192, .head = 128});                 with strides
///     heads_view k(numbers, {.pages = 9, .page_tokens = 16, .heads = 8, .head_dim = 128}, slots);
///     heads_view k(q8_0{}, memory, pages_shape{...}, slots);                      in a format
///
/// Format: a number type (any storable one), or a cache_format, const where heads are only read.
/// Address: at_strides, or in_pages, which skips tokens without a slot. Numbers and strides are in
/// elements, those of a format in bytes. The memory, and the slots, of std::int64_t, must outlive
/// the view: slots without a name are a compile error. Zero tokens or heads make an empty view.
/// numbers: T*, or an engine's std::uint16_t*, where T is as<half> or as<bfloat16>.
///
/// Throws std::invalid_argument if head_dim is 0 or one that the format has not, if memory is null
/// but the view is not empty, if the extent overflows, if a slot is beyond the pages, if scales
/// overlap codes, or, unless Format is const, if two heads or pages overlap. (With stride 0, all
/// heads that are read may be one.)
template <class Format, class Address = at_strides>
class heads_view {
  static_assert(storable<Format>,
                "posenc: elements must be float, double, half, bfloat16 or a type with a "
                "storage_format; 16-bit words are as<half> or as<bfloat16>");

 public:
  using element_type = Format;  ///< for the error above
};

/// Heads of numbers.
template <storable T, class Address>
class heads_view<T, Address> : public Address::template of<T> {
  using address = typename Address::template of<T>;

 public:
  using element_type = T;                      ///< const T where the heads are only read
  using format_type = std::remove_const_t<T>;  ///< a number type is a format

  /// Dense; the slots of pages follow the shape.
  template <class... Slots>
  heads_view(detail::elements_at<T> data, typename Address::shape shape, Slots const&... slots)
      : address(data.first, shape, slots...) {}
  /// With gaps, or in another order.
  template <class... Slots>
  [[gnu::always_inline]] heads_view(detail::elements_at<T> data, typename Address::shape shape,
                                    typename Address::strides strides, Slots const&... slots)
      : address(data.first, shape, strides, slots...) {}
  template <detail::ends_with_its_line Slots>
  heads_view(detail::elements_at<T>,  // posenc: what is viewed must have a name
             typename Address::shape, Slots&&) = delete;
  template <detail::ends_with_its_line Slots>
  heads_view(detail::elements_at<T>,  // posenc: what is viewed must have a name
             typename Address::shape, typename Address::strides, Slots&&) = delete;
  /// Any view converts to a read-only one.
  template <std::same_as<std::remove_const_t<T>> U>
  heads_view(heads_view<U, Address> const& other) noexcept : address(other) {}

  /// The same, to be read alone.
  heads_view<T const, Address> to_read() const noexcept { return *this; }

  std::size_t head_dim() const noexcept { return this->width(); }  ///< of each head, contiguous
  heads_shape shape() const noexcept {                             ///< [tokens][heads][head_dim]
    return {this->tokens(), this->heads(), head_dim()};
  }
  /// One head. Precondition, not checked: token < tokens() and has a slot, head < heads().
  std::span<T> operator()(std::size_t token, std::size_t head) const noexcept {
    return {this->at(token, head), head_dim()};
  }

  /// `count` tokens, from `first` on. Throws if they reach beyond the view.
  heads_view slice_tokens(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.narrow_tokens(first, count);
    return slice;
  }
  /// `count` heads of every token, from `first` on. Throws if they reach beyond the view.
  heads_view slice_heads(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.narrow_heads(first, count);
    return slice;
  }
  /// `count` dims of every head, from `first` on. Throws if they reach beyond the head or are none.
  heads_view slice_dims(std::size_t first,
                        std::size_t count) const requires std::same_as<Address, at_strides> {
    auto slice = *this;
    slice.narrow_width(first, count);
    return slice;
  }

  /// Reads a head. Not checked: the token has a slot.
  void read(std::size_t token, std::size_t head, std::span<arithmetic_t<T>> to) const noexcept {
    auto const* const from = this->at(token, head);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = load(from[i]);
  }
  /// Stores a head, each number rounded once; nothing where the token has no slot.
  void write(std::size_t token, std::size_t head,
             std::span<arithmetic_t<T> const> numbers) const noexcept requires writable<T> {
    if (!this->has(token)) return;
    auto* const to = this->at(token, head);
    if constexpr (std::same_as<T, arithmetic_t<T>>) {
      std::copy(numbers.begin(), numbers.end(), to);
    } else {
      for (std::size_t i = 0; i < numbers.size(); ++i) store(to[i], numbers[i]);
    }
  }
  /// The bytes of a head. Not checked: the token has a slot.
  std::byte const* codes(std::size_t token, std::size_t head) const noexcept {
    return reinterpret_cast<std::byte const*>(this->at(token, head));
  }
  /// Where the heads are in memory.
  std::array<address const*, 1> addresses() const noexcept { return {this}; }
};

template <class T>
heads_view(T*, heads_shape) -> heads_view<T>;
template <class T>
heads_view(T*, heads_shape, heads_strides) -> heads_view<T>;
template <class T, detail::slot_list Slots>
heads_view(T*, pages_shape, Slots const&) -> heads_view<T, in_pages>;
template <class T, detail::slot_list Slots>
heads_view(T*, pages_shape, pages_strides, Slots const&) -> heads_view<T, in_pages>;

// clang-format off

/// A heads_view, of numbers or in a format.
template <class V>
concept any_heads = requires(V const& v) {
  typename V::format_type;
  []<class F, class A>(heads_view<F, A> const&) {}(v);
};
/// A heads_view of numbers.
template <class V>
concept heads_of_numbers = any_heads<V> && requires(V const& v) { v(0, 0); };
/// Heads of numbers that can be written.
template <class V>
concept writable_heads = heads_of_numbers<V> && writable<typename V::element_type>;

// clang-format on

}}  // namespace posenc
