// The kernels of one instruction set. Compiled once for each, with POSENC_KERNELS_SET as its name.
// Sets share no function: what is not posenc's is in an unnamed namespace.
#include "set.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/checked.hpp"
#include "posenc/rotation/detail/checked_heads.hpp"
#include "posenc/rotation/detail/cut.hpp"
#include "posenc/rotation/detail/heads_in_memory.hpp"
#include "posenc/rotation/detail/norm_loops.hpp"
#include "posenc/rotation/layout.hpp"
#include "set_heads.hpp"
#include "set_rows.hpp"
#if !defined(POSENC_KERNELS_FEWER)
#include "set_step.hpp"
// Reads what a step writes.
#include "set_attention.hpp"
#endif

namespace posenc_kernels {
namespace {

// ---- Rotation

// With a norm before, some heads of a token at a time, as a step has it.
template <class Checked>
void rotate_normalised(Checked const& heads, rotation_plan const& plan) noexcept {
  using real = typename Checked::real;
  posenc::detail::head_gains<real, 64> gains;
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
      posenc::detail::rotate_in_l1<typename Checked::from_layout, typename Checked::to_layout>(
          some, heads.rows.rotated_pairs());
    }
  }
}

template <class S, class T, class From, class To, bool Fused>
void rotate(rotation_plan const& plan) noexcept {
  using real = posenc::arithmetic_t<T>;
  auto const rows = rows_of<real>(plan.rows, plan.tokens);
  posenc::heads_shape const shape{plan.tokens, plan.heads, plan.head_dim};
  auto const from = numbers_at<S const>(plan.from, shape);
  auto const to = numbers_at<T>(plan.to, shape);
  auto const scale = static_cast<real>(plan.scale);
  posenc::detail::checked_heads<From, To, Fused, decltype(from), decltype(to)> const heads{
      from, to, scale, rows, plan.first_dim, Fused || !plan.in_place};
  if constexpr (Fused) {
    if (plan.eps > 0) return rotate_normalised(heads, plan);
  }
  posenc::detail::rotate_cut(heads, {0, plan.tokens, 0, plan.heads});
}

using posenc::bfloat16, posenc::half, posenc::halves, posenc::interleaved;
template <std::size_t I>
using type_of = std::tuple_element_t<I, std::tuple<float, double, half, bfloat16>>;
template <std::size_t I>
using layout_of = std::tuple_element_t<I, std::tuple<halves, interleaved>>;

#if defined(POSENC_KERNELS_FEWER)
constexpr bool only_bfloat16 = true;
constexpr attention_functions const* attention = nullptr;
constexpr step_function* step = nullptr;
constexpr hadamard_function* hadamard = nullptr;
#else
constexpr bool only_bfloat16 = false;
#endif

// What changes type or layout is fused, with a factor of 1: the same bits, and half the code.
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
  if constexpr (converts && (fused || !changes) &&
                (!only_bfloat16 || std::is_same_v<T, bfloat16>)) {
    return rotate<S, T, layout_of<from_layout>, layout_of<to_layout>, fused>;
  } else {
    return nullptr;
  }
}

constexpr auto functions = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<rotate_function*, sizeof...(I)>{function_at<I>()...};
}
(std::make_index_sequence<types * types * layouts * layouts * 2>{});

// The same of one token, without what a check says and checks again.
template <class T, class Layout>
void rotate_one_token(one_token_plan const& plan) noexcept {
  posenc::detail::heads_in_memory<T, T, false> some;
  some.first.from = some.first.to = static_cast<T*>(plan.data) + plan.first_dim;
  auto const rows = rows_of<posenc::arithmetic_t<T>>(plan.rows, 1);
  some.cos = rows.cos(0).data();
  some.tokens = 1, some.heads = plan.heads, some.cos_token = rows.rotary_dim();
  some.from_token = some.to_token = 0;
  some.from_head = some.to_head = static_cast<std::ptrdiff_t>(plan.head_dim);
  some.head_dim = plan.head_dim, some.first_dim = plan.first_dim, some.pairs = rows.pairs();
  posenc::detail::rotate_ranges<Layout, Layout>(
      some, rows.rotated_pairs(), false,
      plan.heads == 1 ? posenc::detail::loop::in_order : posenc::detail::loop::columns);
}

constexpr auto one_token_functions = []<std::size_t... I>(std::index_sequence<I...>) {
  constexpr auto function = []<std::size_t Index>() -> one_token_function* {
    using T = type_of<Index / layouts>;
    if constexpr (only_bfloat16 && !std::is_same_v<T, bfloat16>) {
      return nullptr;
    } else {
      return rotate_one_token<T, layout_of<Index % layouts>>;
    }
  };
  return std::array<one_token_function*, sizeof...(I)>{function.template operator()<I>()...};
}
(std::make_index_sequence<types * layouts>{});

}  // namespace

#define POSENC_KERNELS_JOINED(prefix, name) POSENC_KERNELS_JOINED_EXPANDED(prefix, name)
#define POSENC_KERNELS_JOINED_EXPANDED(prefix, name) prefix##name

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
    .rotate = functions.data(),
    .rotate_one_token = one_token_functions.data(),
    .attention = attention,
    .step = step,
    .hadamard = hadamard,
    .make_rows = make_rows,
    .destroy_rows = destroy_rows,
    .write_rows = write_rows};

}  // namespace posenc_kernels
