// A tensor of ggml: its type, its rows, its heads. Needs no ggml.
#pragma once

#include <cstddef>
#include <cstdint>

#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/core/heads_in_format.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET::detail {

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
inline constexpr int ggml_type_of<q8_0> = 8;
template <>
inline constexpr int ggml_type_of<bfloat16> = 30;

/// How ggml stores F: `numbers` of them in a block of `bytes`, at multiples of `align`.
template <class F>
struct ggml_block_of {
  static constexpr std::size_t numbers = 1, bytes = sizeof(F), align = alignof(F);
};
template <>
struct ggml_block_of<q4_0> {
  static constexpr std::size_t numbers = q4_0::group, bytes = q4_0::group / 2 + 2, align = 1;
};
template <>
struct ggml_block_of<q8_0> {
  static constexpr std::size_t numbers = q8_0::group, bytes = q8_0::group + 2, align = 1;
};

/// From the first to the last byte of a tensor with elements, [first, last).
struct ggml_bytes {
  std::uintptr_t first, last;
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

/// The heads of one batch of a tensor ne = {head_dim, tokens, heads, batches}; of outputs, whose
/// heads are before tokens, Tokens is 2. F: const where they are only read, as those in a format.
template <class F, std::size_t Tokens = 1, class Tensor>
heads_view<F> ggml_heads_of(Tensor const& t, std::size_t batch) {
  auto* const data = static_cast<std::byte*>(t.data) + batch * t.nb[3];
  auto const count = [&](std::size_t i) { return static_cast<std::size_t>(t.ne[i]); };
  heads_shape const shape{count(Tokens), count(3 - Tokens), count(0)};
  auto const step = [&](std::size_t i) {
    return static_cast<std::ptrdiff_t>(storable<F> ? t.nb[i] / sizeof(F) : t.nb[i]);
  };
  heads_strides const strides{step(Tokens), step(3 - Tokens)};
  if constexpr (storable<F>) {
    return {reinterpret_cast<F*>(data), shape, strides};
  } else {
    return {F{}, data, shape, strides};
  }
}

}  // namespace posenc::detail
