// The kernels of one instruction set, POSENC_KERNELS_SET (base unless said), for the functions of
// posenc.h: a separate file includes this, and is compiled for the CPUs of the set. See
// library.hpp.
#pragma once

#include "posenc/core/target.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "posenc/c/detail/planned_heads.hpp"
#include "posenc/c/detail/planned_rows.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/rotation/detail/cut.hpp"
#include "posenc/rotation/detail/heads_in_memory.hpp"
#include "posenc/rotation/detail/norm_loops.hpp"
#include "posenc/rotation/detail/number_rotation.hpp"
#include "posenc/rotation/layout.hpp"
#if !defined(POSENC_KERNELS_FEWER)
#include "posenc/c/detail/planned_step.hpp"
#endif
#if !defined(POSENC_KERNELS_FEWER) || defined(POSENC_KERNELS_ONLY_ATTENTION)
// Reads what a step writes.
#include "posenc/c/detail/planned_gradients.hpp"
#endif

#if !defined(POSENC_KERNELS_SET)
#define POSENC_KERNELS_SET base
#endif

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

// ---- Rotation

// With a norm before, some heads of a token at a time, as a step has it.
template <class Checked>
void rotate_normalised(Checked const& heads, rotation_plan const& plan) noexcept {
  using real = typename Checked::real;
  head_gains<real, 64> gains;
  for (std::size_t token = 0; token < plan.tokens; ++token) {
    for (std::size_t head = 0, count; head < plan.heads; head += count) {
      count = std::min(plan.heads - head, std::size(gains.values));
      auto some = heads.at(token, 1, head, count);
      auto const* const from = heads.from.at(token, head);
      gains.compute(from, some.from_head, count, plan.head_dim, static_cast<real>(plan.eps),
                    heads.scale);
      if (plan.weight != nullptr)
        some.first.weights = static_cast<real const*>(plan.weight) + plan.first_dim;
      some.first.gain = gains.values, some.first.gain_per_head = true;
      if (token + 1 < plan.tokens) some.first.ahead += heads.from.strides().token;
      rotate_in_l1<typename Checked::from_layout, typename Checked::to_layout>(
          some, heads.rows.rotated_pairs());
    }
  }
}

template <class S, class T, class From, class To, bool Fused>
void rotate(rotation_plan const& plan) noexcept {
  using real = arithmetic_t<T>;
  auto const rows = rows_of<real>(plan.rows, plan.tokens);
  heads_shape const shape{plan.tokens, plan.heads, plan.head_dim};
  auto const from = numbers_at<S const>(plan.from, shape);
  auto const to = numbers_at<T>(plan.to, shape);
  auto const scale = static_cast<real>(plan.factor);
  number_rotation<From, To, Fused, decltype(from), decltype(to)> const heads{
      from, to, scale, rows, plan.first_dim, Fused || !plan.in_place};
  if constexpr (Fused) {
    if (plan.eps > 0) return rotate_normalised(heads, plan);
  }
  rotate_cut(heads, {0, plan.tokens, 0, plan.heads});
}

template <std::size_t I>
using type_of = std::tuple_element_t<I, std::tuple<float, double, half, bfloat16>>;
template <std::size_t I>
using layout_of = std::tuple_element_t<I, std::tuple<halves, interleaved>>;

// A set with fewer functions has attention, or the rotations that write bfloat16.
#if defined(POSENC_KERNELS_ONLY_ATTENTION)
template <class T>
inline constexpr bool rotates = false;
#elif defined(POSENC_KERNELS_FEWER)
template <class T>
inline constexpr bool rotates = std::is_same_v<T, bfloat16>;
#else
template <class T>
inline constexpr bool rotates = true;
#endif
#if defined(POSENC_KERNELS_FEWER)
inline constexpr step_function* of_set_step = nullptr;
inline constexpr hadamard_function* of_set_hadamard = nullptr;
#else
inline constexpr step_function* of_set_step = step;
inline constexpr hadamard_function* of_set_hadamard = hadamard;
#endif
#if defined(POSENC_KERNELS_FEWER) && !defined(POSENC_KERNELS_ONLY_ATTENTION)
inline constexpr attention_functions const* of_set_attention = nullptr;
#else
inline constexpr attention_functions const* of_set_attention = &functions_of_attention;
#endif

// A rotation that changes type or layout is fused, with a factor of 1: the same bits, and half the
// code.
template <std::size_t Index>
constexpr rotate_function* function_at() noexcept {
  constexpr bool fused = Index % 2 == 1;
  constexpr auto to_layout = Index / 2 % layouts, from_layout = Index / 2 / layouts % layouts,
                 to_type = Index / 2 / layouts / layouts % types,
                 from_type = Index / 2 / layouts / layouts / types;
  using S = type_of<from_type>;
  using T = type_of<to_type>;
  constexpr bool changes = from_type != to_type || from_layout != to_layout,
                 converts = from_type == to_type ||
                            (!std::is_same_v<S, double> && std::is_same_v<T, float>) ||
                            (!std::is_same_v<T, double> && std::is_same_v<S, float>);
  if constexpr (converts && (fused || !changes) && rotates<T>) {
    return rotate<S, T, layout_of<from_layout>, layout_of<to_layout>, fused>;
  } else {
    return nullptr;
  }
}

inline constexpr auto functions = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<rotate_function*, sizeof...(I)>{function_at<I>()...};
}
(std::make_index_sequence<types * types * layouts * layouts * 2>{});

// Rotates one token, after the checks, which it does not repeat.
template <class T, class Layout>
void rotate_one_token(one_token_plan const& plan) noexcept {
  heads_in_memory<T, T, false> some;
  some.first.from = some.first.to = static_cast<T*>(plan.data) + plan.first_dim;
  auto const rows = rows_of<arithmetic_t<T>>(plan.rows, 1);
  some.cos = rows.cos(0).data();
  some.tokens = 1, some.heads = plan.heads, some.cos_token = rows.rotary_dim();
  some.from_token = some.to_token = 0;
  some.from_head = some.to_head = static_cast<std::ptrdiff_t>(plan.head_dim);
  some.head_dim = plan.head_dim, some.first_dim = plan.first_dim, some.pairs = rows.pairs();
  rotate_ranges<Layout, Layout>(some, rows.rotated_pairs(), false,
                                plan.heads == 1 ? loop::in_order : loop::columns);
}

inline constexpr auto one_token_functions = []<std::size_t... I>(std::index_sequence<I...>) {
  constexpr auto function = []<std::size_t Index>() -> one_token_function* {
    using T = type_of<Index / layouts>;
    if constexpr (rotates<T>) {
      return rotate_one_token<T, layout_of<Index % layouts>>;
    } else {
      return nullptr;
    }
  };
  return std::array<one_token_function*, sizeof...(I)>{function.template operator()<I>()...};
}
(std::make_index_sequence<types * layouts>{});

}}}  // namespace posenc::detail::c_set

#define POSENC_KERNELS_JOINED(prefix, name) POSENC_KERNELS_JOINED_EXPANDED(prefix, name)
#define POSENC_KERNELS_JOINED_EXPANDED(prefix, name) prefix##name

namespace posenc_c {

#if defined(POSENC_KERNELS_FEWER)
extern instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_FEWER);
#define POSENC_KERNELS_FEWER_SET &POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_FEWER)
#else
#define POSENC_KERNELS_FEWER_SET nullptr
#endif
extern instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_SET);
instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_SET) = {
    .name = POSENC_KERNELS_TEXT(POSENC_KERNELS_SET),
    .fewer = POSENC_KERNELS_FEWER_SET,
#if defined(__LZCNT__)
    .lzcnt = true,
#else
    .lzcnt = false,
#endif
#if defined(__MOVBE__)
    .movbe = true,
#else
    .movbe = false,
#endif
    .rotate = posenc::detail::c_set::functions.data(),
    .rotate_one_token = posenc::detail::c_set::one_token_functions.data(),
    .attention = posenc::detail::c_set::of_set_attention,
    .step = posenc::detail::c_set::of_set_step,
    .hadamard = posenc::detail::c_set::of_set_hadamard,
    .make_rows = posenc::detail::c_set::make_rows,
    .make_mixed_rows = posenc::detail::c_set::make_mixed_rows,
    .destroy_rows = posenc::detail::c_set::destroy_rows,
    .write_rows = posenc::detail::c_set::write_rows};

}  // namespace posenc_c
