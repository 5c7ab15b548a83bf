// A tensor of ggml: its type, its rows, its heads. Needs no ggml.
#pragma once

#include <cstddef>
#include <cstdint>

#include <span>
#include <type_traits>

#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/x86_dot_products.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// ggml's numbers for the types of tensors, which its files have too.
template <class F>
inline constexpr int ggml_type_of = -1;
template <>
inline constexpr int ggml_type_of<float> = 0;
template <>
inline constexpr int ggml_type_of<half> = 1;
template <>
inline constexpr int ggml_type_of<q4_0> = 2;
template <>
inline constexpr int ggml_type_of<q4_1> = 3;
template <>
inline constexpr int ggml_type_of<q5_0> = 6;
template <>
inline constexpr int ggml_type_of<q5_1> = 7;
template <>
inline constexpr int ggml_type_of<q8_0> = 8;
template <>
inline constexpr int ggml_type_of<iq4_nl> = 20;
template <>
inline constexpr int ggml_type_of<bfloat16> = 30;

/// How ggml stores F: `numbers` of them in a block of `bytes`, at multiples of `align`.
template <class F>
struct ggml_block_of {
  static constexpr std::size_t numbers = 1, bytes = sizeof(F), align = alignof(F);
};
template <cache_format F>
struct ggml_block_of<F> {
  static constexpr std::size_t numbers = F::group, bytes = F{}.bytes(numbers), align = 1;
};

/// act.operator()<F>() for the F of a type of caches; `otherwise` for another type.
template <class Result>
Result with_ggml_type(int type, Result otherwise, auto const& act) {
  switch (type) {
    case ggml_type_of<float>:
      return act.template operator()<float>();
    case ggml_type_of<half>:
      return act.template operator()<half>();
    case ggml_type_of<q4_0>:
      return act.template operator()<q4_0>();
    case ggml_type_of<q4_1>:
      return act.template operator()<q4_1>();
    case ggml_type_of<q5_0>:
      return act.template operator()<q5_0>();
    case ggml_type_of<q5_1>:
      return act.template operator()<q5_1>();
    case ggml_type_of<q8_0>:
      return act.template operator()<q8_0>();
    case ggml_type_of<iq4_nl>:
      return act.template operator()<iq4_nl>();
    case ggml_type_of<bfloat16>:
      return act.template operator()<bfloat16>();
    default:
      return otherwise;
  }
}

/// From the first to the last byte of a tensor with elements, [first, last).
struct ggml_bytes {
  std::uintptr_t first, last;
  bool is_apart(ggml_bytes const& other) const noexcept {
    return last <= other.first || other.last <= first;
  }
};
template <class F, class Tensor>
ggml_bytes ggml_bytes_of(Tensor const& t) noexcept {
  using block = ggml_block_of<F>;
  auto const first = reinterpret_cast<std::uintptr_t>(t.data);
  auto last = first + static_cast<std::size_t>(t.ne[0]) / block::numbers * block::bytes;
  for (std::size_t i = 1; i < 4; ++i) last += static_cast<std::size_t>(t.ne[i] - 1) * t.nb[i];
  return {first, last};
}

/// Whether a tensor is there, with elements of F, each row's dense.
template <class F, class Tensor>
bool has_ggml_rows(Tensor const& t) noexcept {
  using block = ggml_block_of<F>;
  auto bits = reinterpret_cast<std::uintptr_t>(t.data);
  for (std::size_t i = 0; i < 4; ++i) {
    if (t.ne[i] <= 0) return false;
    if (i > 0) bits |= t.nb[i];
  }
  return static_cast<int>(t.type) == ggml_type_of<F> && t.data != nullptr &&
         t.nb[0] == block::bytes && t.ne[0] % std::int64_t{block::numbers} == 0 &&
         bits % block::align == 0;
}

/// Whether a cache's tensor has rows without gaps, and with_ggml_type has a format for its type.
template <class Tensor>
bool has_ggml_cache_rows(Tensor const& t) noexcept {
  return with_ggml_type(static_cast<int>(t.type), false,
                        [&]<class F>() { return has_ggml_rows<F>(t); });
}
template <class Tensor>
ggml_bytes ggml_cache_bytes_of(Tensor const& t) noexcept {
  return with_ggml_type(static_cast<int>(t.type), ggml_bytes{},
                        [&]<class F>() { return ggml_bytes_of<F>(t); });
}

/// The type of a cache's tensor as a format, which is known as the program runs: attention asks
/// visit_format for it, so that it is compiled once for all types of keys and values.
struct ggml_format {
  int type;
  bool rounds;                 ///< see dot_products
  std::ptrdiff_t token, head;  ///< strides, in bytes

  bool rounds_products() const noexcept { return rounds; }
  std::size_t bytes(std::size_t head_dim) const noexcept {
    return with_ggml_type(type, std::size_t{0}, [&]<class F>() {
      return head_dim / ggml_block_of<F>::numbers * ggml_block_of<F>::bytes;
    });
  }
  void encode(std::span<float const>, std::byte*) const noexcept {}  // heads are read alone
  void decode(std::byte const* from, std::span<float> numbers) const noexcept {
    with_ggml_type(type, 0, [&]<class F>() {
      if constexpr (storable<F>) {
        numbers_of<F>().decode(from, numbers);
      } else {
        F{}.decode(from, numbers);
      }
      return 0;
    });
  }
};
using ggml_cache_heads = heads_view<ggml_format const>;

/// Calls act(view) with heads as they are stored. (Found by attention.)
template <class Act>
void visit_format(ggml_cache_heads const& heads, Act const& act) {
  auto const& format = heads.format();
  auto const* const data = heads.codes(0, 0);
  auto const view = [&]<class F>(F const& of) {
    act(heads_view<F const>(of, data, heads.shape(), {format.token, format.head}));
  };
  with_ggml_type(format.type, 0, [&]<class F>() {
    if constexpr (storable<F>) {
      constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(F));
      act(heads_view<F const>(reinterpret_cast<F const*>(data), heads.shape(),
                              {format.token / size, format.head / size}));
    } else if constexpr (requires { F::codes_are; } && multiplies_bytes) {
      format.rounds ? view(dot_products<F>(F{})) : view(F{});
    } else {
      view(F{});
    }
    return 0;
  });
}

/// One batch of a tensor: where its data begins, shape, and strides in bytes. ne = {head_dim,
/// tokens, heads, batches}; of outputs, whose heads are before tokens, tokens is 2.
struct ggml_batch {
  std::byte* data;
  heads_shape shape;
  std::ptrdiff_t token, head;

  template <class Tensor>
  ggml_batch(Tensor const& t, std::size_t batch, std::size_t tokens = 1) noexcept
      : data(static_cast<std::byte*>(t.data) + batch * t.nb[3]),
        shape{static_cast<std::size_t>(t.ne[tokens]), static_cast<std::size_t>(t.ne[3 - tokens]),
              static_cast<std::size_t>(t.ne[0])},
        token(static_cast<std::ptrdiff_t>(t.nb[tokens])),
        head(static_cast<std::ptrdiff_t>(t.nb[3 - tokens])) {}

  /// Heads of floats, const where they are only read.
  template <class F>
  heads_view<F> floats() const {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(F));
    return {reinterpret_cast<F*>(data), shape, {token / size, head / size}};
  }
  /// Heads of a cache.
  ggml_cache_heads cache(int type, bool rounds) const {
    return {{type, rounds, token, head}, data, shape, {token, head}};
  }
};

}}}  // namespace posenc::detail
