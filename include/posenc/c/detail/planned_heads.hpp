// Heads of a plan as views.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/c/detail/formats.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/overlap.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

using namespace posenc_c;
using c::with_format;

/// The place of some heads of a plan, which outlives it.
struct planned_part {
  places const* at;
  std::size_t token = 0, head = 0;  ///< the first ones
};

/// The address of heads that were checked.
template <class E>
class planned_address {
 public:
  planned_address(E*, heads_shape const& shape, planned_part const& part) noexcept
      : part_(part), tokens_(shape.tokens), heads_(shape.heads), width_(shape.head_dim) {}

  std::size_t tokens() const noexcept { return tokens_; }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t width() const noexcept { return width_; }
  std::ptrdiff_t head_stride() const noexcept { return strides().head; }
  /// The strides of tokens in one page.
  heads_strides strides() const noexcept {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(E));
    return {part_.at->token / size, part_.at->head / size};
  }
  bool has(std::size_t t) const noexcept { return part_.at->has(part_.token + t); }
  bool has_all() const noexcept {
    for (std::size_t t = 0; part_.at->slots != nullptr && t < tokens_; ++t)
      if (!has(t)) return false;
    return true;
  }
  E* token(std::size_t t) const noexcept { return at(t, 0); }
  E* at(std::size_t t, std::size_t head) const noexcept {
    return reinterpret_cast<E*>(part_.at->at(part_.token + t) +
                                static_cast<std::ptrdiff_t>(part_.head + head) * part_.at->head);
  }
  planned_part const& part() const noexcept { return part_; }
  memory_range memory() const noexcept { return {}; }  // was compared before
  strided_memory strided() const noexcept { return {}; }

 protected:
  void narrow_heads(std::size_t first, std::size_t count) noexcept {
    part_.head += first, heads_ = count;
  }
  void narrow_tokens(std::size_t first, std::size_t count) noexcept {
    part_.token += first, tokens_ = count;
  }

 private:
  planned_part part_;
  std::size_t tokens_, heads_, width_;
};

struct as_planned {
  using shape = heads_shape;
  using strides = planned_part;
  template <class E>
  using of = planned_address<E>;
};

/// A format that is known at run time. Visited: attention asks visit_format for the one that it is.
template <bool Visited>
struct run_time_format {
  stored_heads const* heads;

  bool rounds_products() const noexcept requires Visited { return heads->rounds_products; }
  bool multiplies_bfloat16() const noexcept requires Visited { return heads->multiplies_bfloat16; }
  std::size_t bytes(std::size_t) const noexcept { return 1; }  // strides say the same
  std::size_t scale_bytes(std::size_t) const noexcept { return 1; }
  void encode(std::span<float const> head, std::byte* to, std::byte* scales) const noexcept {
    heads_to_encode one(head, to, scales);
    encode_some(one);
  }
  void encode_some(heads_to_encode& some) const noexcept {
    with_format(*heads, [&]<class Format>(Format const& format) {
      if constexpr (scaled_format<Format>) {  // quicker one by one
        for (; some.count != 0; some.next()) format.encode(some.head(), some.to, some.scales);
      } else {
        posenc::detail::encode(format, some);
      }
    });
  }
  void decode(std::byte const* from, std::byte const* scales,
              std::span<float> head) const noexcept {
    with_format(*heads, [&]<class Format>(Format const& format) {
      if constexpr (scaled_format<Format>) {
        format.decode(from, scales, head);
      } else {
        format.decode(from, head);
      }
    });
  }
};

using any_format = run_time_format<true>;
using decoded_format = run_time_format<false>;

/// Heads in a format: one that is known, or any. Format: const where they are only read.
template <class Format>
auto view_of(std::remove_const_t<Format> const& format, stored_heads const& s,
             heads_shape const& shape, planned_part part = {nullptr}) noexcept {
  using view = heads_view<Format, as_planned>;
  std::conditional_t<std::is_const_v<Format>, void const, void>*const codes = s.codes.data,
                                                                      *const scales = s.scales.data;
  part.at = &s.codes;
  if constexpr (view::is_scaled) {
    return view(format, codes, shape, part, scales, planned_part{&s.scales, part.token, part.head});
  } else {
    return view(format, codes, shape, part);
  }
}
template <class Format>
requires std::same_as<std::remove_const_t<Format>, any_format>
auto view_of(stored_heads const& s, heads_shape const& shape,
             planned_part part = {nullptr}) noexcept {
  return view_of<Format>(any_format{&s}, s, shape, part);
}
/// Heads of numbers.
template <class T>
heads_view<T, as_planned> numbers_at(places const& at, heads_shape const& shape,
                                     planned_part part = {nullptr}) noexcept {
  part.at = &at;
  return {reinterpret_cast<T*>(at.data), shape, part};
}

}}}  // namespace c_set
