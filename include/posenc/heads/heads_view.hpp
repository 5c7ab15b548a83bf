// The view of heads: numbers in a format at an address. Queries, keys, values, embeddings.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/heads/at_strides.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/in_pages.hpp"
#include "posenc/heads/overlap.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// The address of elements: T*, or the words of an engine if T is as<half> or as<bfloat16>.
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
  POSENC_ALWAYS_INLINE heads_view(detail::elements_at<T> data, typename Address::shape shape,
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
  /// The address of the heads in memory.
  std::array<address const*, 1> addresses() const noexcept { return {this}; }
};

/// Heads in a format. Dense pages of a format with scales elsewhere have them behind their codes:
/// DeepSeek V4's.
template <class Format, class Address>
requires cache_format<std::remove_const_t<Format>>
class heads_view<Format, Address> {
  static constexpr bool reads = std::is_const_v<Format>;
  using byte = std::conditional_t<reads, detail::head_byte const, detail::head_byte>;
  using raw = std::conditional_t<reads, void const, void>;
  using shape_type = typename Address::shape;
  using strides = typename Address::strides;
  class address : public Address::template of<byte> {
    using base = typename Address::template of<byte>;

   public:
    using base::base;
    using base::narrow_heads;
    using base::narrow_tokens;
  };

 public:
  using element_type = std::conditional_t<reads, float const, float>;  ///< as they are decoded
  using format_type = std::remove_const_t<Format>;                     ///< not const
  static constexpr bool is_scaled = scaled_format<format_type>;        ///< scales are elsewhere

  /// Dense; the slots of pages come last.
  template <class... Slots>
  heads_view(format_type format, raw* data, shape_type const& shape,
             Slots const&... slots) requires(sizeof...(Slots) < 2)
      : heads_view(format, shape, dense(format, data, shape), slots...) {}
  /// With any strides, of a format with all bytes in one place.
  template <class... Slots>
  heads_view(format_type format, raw* data, shape_type const& shape, strides const& of_heads,
             Slots const&... slots) requires(!is_scaled)
      : heads_view(format, shape, places{data, of_heads, data, of_heads}, slots...) {}
  /// With any strides, of a format with scales elsewhere.
  template <class... Slots>
  heads_view(format_type format, raw* data, shape_type const& shape, strides const& of_heads,
             raw* scales, strides const& of_scales, Slots const&... slots) requires(is_scaled)
      : heads_view(format, shape, places{data, of_heads, scales, of_scales}, slots...) {
    detail::require(!detail::addresses_overlap(codes_, scales_),
                    "heads_view: scales must not overlap codes");
  }
  template <detail::ends_with_its_line Slots>
  heads_view(format_type, raw*,  // posenc: what is viewed must have a name
             shape_type const&, Slots&&) = delete;
  template <detail::ends_with_its_line Slots>
  heads_view(format_type, raw*,  // posenc: what is viewed must have a name
             shape_type const&, strides const&, Slots&&) = delete;
  template <detail::ends_with_its_line Slots>
  heads_view(format_type, raw*,  // posenc: what is viewed must have a name
             shape_type const&, strides const&, raw*, strides const&, Slots&&) = delete;

  std::size_t tokens() const noexcept { return codes_.tokens(); }                ///< in all
  std::size_t heads() const noexcept { return codes_.heads(); }                  ///< of each token
  std::size_t head_dim() const noexcept { return head_dim_; }                    ///< of each head
  heads_shape shape() const noexcept { return {tokens(), heads(), head_dim_}; }  ///< as numbers
  format_type const& format() const noexcept { return format_; }                 ///< of all heads
  bool has(std::size_t token) const noexcept { return codes_.has(token); }       ///< a slot
  bool has_all() const noexcept { return codes_.has_all(); }                     ///< each token

  /// Decodes a head. Not checked: the token has a slot.
  void read(std::size_t token, std::size_t head, std::span<float> numbers) const noexcept {
    if constexpr (is_scaled) {
      format_.decode(codes(token, head), scales(token, head), numbers);
    } else {
      format_.decode(codes(token, head), numbers);
    }
  }
  /// Encodes a head; nothing where the token has no slot. Not checked: numbers has head_dim().
  void write(std::size_t token, std::size_t head, std::span<float const> numbers) const noexcept
      requires(!reads) {
    write_some(token, head, 1, numbers.data(), 0);
  }
  /// `count` heads from `head` on, each `stride` numbers behind the one before.
  void write_some(std::size_t token, std::size_t head, std::size_t count, float const* numbers,
                  std::ptrdiff_t stride) const noexcept requires(!reads) {
    if (!has(token) || count == 0) return;
    auto const at = [&](auto const& x) { return reinterpret_cast<std::byte*>(x.at(token, head)); };
    detail::heads_to_encode batch({numbers, head_dim_}, at(codes_));
    batch.stride = stride, batch.count = count;
    if constexpr (is_scaled) batch.scales = at(scales_);
    if (count > 1) {  // with one head, strides may be anything
      batch.to_stride = codes_.head_stride();
      if constexpr (is_scaled) batch.scales_stride = scales_.head_stride();
    }
    detail::encode(format_, batch);
  }
  /// The bytes of a head. Not checked: the token has a slot.
  std::byte const* codes(std::size_t token, std::size_t head) const noexcept {
    return reinterpret_cast<std::byte const*>(codes_.at(token, head));
  }
  /// Its scales.
  std::byte const* scales(std::size_t token, std::size_t head) const noexcept requires(is_scaled) {
    return reinterpret_cast<std::byte const*>(scales_.at(token, head));
  }
  /// For numbers_of: the first number of a token's head, and the stride to the next head in
  /// numbers; null if the token has no slot, or numbers are not aligned.
  auto numbers(std::size_t token, std::size_t head) const noexcept
      requires(!reads && detail::has_numbers<format_type>) {
    using T = typename format_type::number_type;
    auto* const first = has(token) && heads() != 0 ? codes_.at(token, head) : nullptr;
    auto const stride = heads() > 1 ? codes_.head_stride() : 0;
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    bool const aligned =
        reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0 && stride % size == 0;
    return std::pair{aligned ? reinterpret_cast<T*>(first) : nullptr, stride / size};
  }

  /// As those of numbers.
  heads_view slice_tokens(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.codes_.narrow_tokens(first, count);
    if constexpr (is_scaled) slice.scales_.narrow_tokens(first, count);
    return slice;
  }
  /// As those of numbers.
  heads_view slice_heads(std::size_t first, std::size_t count) const {
    auto slice = *this;
    slice.codes_.narrow_heads(first, count);
    if constexpr (is_scaled) slice.scales_.narrow_heads(first, count);
    return slice;
  }

  /// The slots of the tokens; empty if heads are at strides.
  std::span<std::int64_t const> slots() const noexcept {
    if constexpr (requires { codes_.slots(); }) return codes_.slots();
    return {};
  }
  /// The addresses of codes, and of scales that lie elsewhere.
  auto addresses() const noexcept {
    if constexpr (is_scaled) {
      return std::array{&codes_, &scales_};
    } else {
      return std::array{&codes_};
    }
  }

 private:
  struct no_scales {
    template <class... Arguments>
    explicit no_scales(Arguments const&...) noexcept {}
  };

  struct places {
    raw* codes;
    strides of_codes;
    raw* scales;
    strides of_scales;
  };
  template <class... Slots>
  heads_view(format_type const& format, shape_type const& shape, places const& where,
             Slots const&... slots)
      : format_(format),
        head_dim_(shape.head_dim),
        codes_(static_cast<byte*>(where.codes), of_bytes(shape, bytes_of(format, head_dim_)),
               where.of_codes, slots...),
        scales_(static_cast<byte*>(where.scales),
                of_bytes(shape, scale_bytes_of(format, head_dim_)), where.of_scales, slots...) {}

  static shape_type of_bytes(shape_type shape, std::size_t bytes) noexcept {
    shape.head_dim = bytes;
    return shape;
  }
  static std::size_t bytes_of(format_type const& format, std::size_t head_dim) {
    detail::require(head_dim > 0, "heads_view: head_dim must be positive, got 0");
    detail::require(head_dim <= std::numeric_limits<std::size_t>::max() / 64,
                    "heads_view: a head must fit into memory, got head_dim ", head_dim);
    return format.bytes(head_dim);
  }
  static std::size_t scale_bytes_of(format_type const& format, std::size_t head_dim) {
    if constexpr (is_scaled) return format.scale_bytes(head_dim);
    return 0;
  }
  static places dense(format_type const& format, raw* data, shape_type const& shape) {
    auto const stride = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
    auto const of_head = bytes_of(format, shape.head_dim),
               scales_of_head = scale_bytes_of(format, shape.head_dim), heads = shape.heads;
    places where{data, {}, data, {}};
    std::size_t tokens = 0;
    if constexpr (requires { shape.page_tokens; }) {
      tokens = shape.page_tokens;
      where.of_codes.page = stride(tokens * heads * (of_head + scales_of_head));
      where.of_scales.page = where.of_codes.page;
    } else {
      tokens = shape.tokens;
    }
    if (data != nullptr)  // as an integer: the shape is checked later
      where.scales =
          reinterpret_cast<raw*>(reinterpret_cast<std::uintptr_t>(data) + tokens * heads * of_head);
    where.of_codes.token = stride(heads * of_head);
    where.of_codes.head = stride(of_head);
    where.of_scales.token = stride(heads * scales_of_head);
    where.of_scales.head = stride(scales_of_head);
    return where;
  }

  format_type format_;
  std::size_t head_dim_;
  address codes_;
  // Not where there are none: a step copies views, which takes longer than to encode a head.
  [[no_unique_address]] std::conditional_t<is_scaled, address, no_scales> scales_;
};

template <class T>
heads_view(T*, heads_shape) -> heads_view<T>;
template <class T>
heads_view(T*, heads_shape, heads_strides) -> heads_view<T>;
template <class T, detail::slot_list Slots>
heads_view(T*, pages_shape, Slots const&) -> heads_view<T, in_pages>;
template <class T, detail::slot_list Slots>
heads_view(T*, pages_shape, pages_strides, Slots const&) -> heads_view<T, in_pages>;

namespace detail {
template <class Format, class Void>
using as_read = std::conditional_t<std::is_const_v<Void>, Format const, Format>;
}  // namespace detail

template <class Format, class Void>
heads_view(Format, Void*, heads_shape) -> heads_view<detail::as_read<Format, Void>, at_strides>;
template <class Format, class Void>
heads_view(Format, Void*, heads_shape, heads_strides)
    -> heads_view<detail::as_read<Format, Void>, at_strides>;
template <class Format, class Void, class Scales>
heads_view(Format, Void*, heads_shape, heads_strides, Scales*, heads_strides)
    -> heads_view<detail::as_read<Format, Void>, at_strides>;
template <class Format, class Void, detail::slot_list Slots>
heads_view(Format, Void*, pages_shape, Slots const&)
    -> heads_view<detail::as_read<Format, Void>, in_pages>;
template <class Format, class Void, detail::slot_list Slots>
heads_view(Format, Void*, pages_shape, pages_strides, Slots const&)
    -> heads_view<detail::as_read<Format, Void>, in_pages>;
template <class Format, class Void, class Scales, detail::slot_list Slots>
heads_view(Format, Void*, pages_shape, pages_strides, Scales*, pages_strides, Slots const&)
    -> heads_view<detail::as_read<Format, Void>, in_pages>;

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
/// A heads_view in a cache's format.
template <class V>
concept heads_in_format = any_heads<V> && cache_format<typename V::format_type>;

// clang-format on

}}  // namespace posenc
