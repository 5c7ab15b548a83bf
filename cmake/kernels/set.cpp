// The kernels of one instruction set. Compiled once for each, with POSENC_KERNELS_SET as its name.
// Sets share no function: what is not posenc's is in an unnamed namespace.
#include "set.hpp"

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/rotation/checked.hpp"
#include "posenc/rotation/columns.hpp"
#include "posenc/rotation/cut.hpp"
#include "posenc/rotation/heads_in_memory.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "set_rows.hpp"
#if !defined(POSENC_KERNELS_FEWER)
#include "set_step.hpp"
// Reads what a step writes.
#include "set_attention.hpp"
#endif

namespace posenc_kernels {
namespace {

// ---- Rotation

// What a rotation asks of a view. The plan was checked: heads are where they may be.
template <class T>
class planned_heads {
 public:
  using element_type = T;
  planned_heads(placed_heads const& at, rotation_plan const& plan) noexcept
      : at_(at), plan_(plan) {}

  std::size_t tokens() const noexcept { return plan_.tokens; }
  std::size_t heads() const noexcept { return plan_.heads; }
  std::size_t head_dim() const noexcept { return plan_.head_dim; }
  std::ptrdiff_t head_stride() const noexcept { return at_.head; }
  posenc::heads_strides strides() const noexcept { return {at_.token, at_.head}; }
  posenc::memory_range memory() const noexcept { return {}; }  // overlaps nothing
  T* token(std::size_t token) const noexcept {
    return reinterpret_cast<T*>(at_.data) + static_cast<std::ptrdiff_t>(token) * at_.token;
  }

 private:
  placed_heads const& at_;
  rotation_plan const& plan_;
};

template <class S, class T, class From, class To, bool Fused>
void rotate(rotation_plan const& plan) noexcept {
  using real = posenc::arithmetic_t<T>;
  static_assert(sizeof(pair_range) == sizeof(posenc::pair_range));
  posenc::cos_sin_view<real> const rows(
      static_cast<real const*>(plan.cos_sin), plan.tokens, plan.pairs,
      {reinterpret_cast<posenc::pair_range const*>(plan.rotated), plan.rotated_count});
  posenc::detail::head_factors<real> factors;
  if constexpr (Fused) {
    if (plan.weight != nullptr)
      factors.weight = {static_cast<real const*>(plan.weight), plan.head_dim};
    factors.eps = static_cast<real>(plan.eps), factors.scale = static_cast<real>(plan.scale);
    factors.normalises = plan.eps > 0;
  }
  auto const rotate_views = [&]<class Source, class Target>(Source const& from, Target const& to) {
    posenc::detail::rotate_all(posenc::detail::check<From, To, Fused>(
        from, to, posenc::rotary_block::from(plan.first_dim), factors, rows));
  };
  planned_heads<T> const to(plan.to, plan);
  if constexpr (std::is_same_v<S, T> && std::is_same_v<From, To>) {
    if (plan.in_place) return rotate_views(to, to);
  }
  rotate_views(planned_heads<S>(plan.from, plan), to);
}

using posenc::bfloat16, posenc::half, posenc::halves, posenc::interleaved;
template <std::size_t I>
using type_of = std::tuple_element_t<I, std::tuple<float, double, half, bfloat16>>;
template <std::size_t I>
using layout_of = std::tuple_element_t<I, std::tuple<halves, interleaved>>;

#if defined(POSENC_KERNELS_FEWER)
constexpr bool only_bfloat16 = true;
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
  some.cos = static_cast<posenc::arithmetic_t<T> const*>(plan.cos_sin);
  some.tokens = 1, some.heads = plan.heads, some.cos_token = 2 * plan.pairs;
  some.from_token = some.to_token = 0;
  some.from_head = some.to_head = static_cast<std::ptrdiff_t>(plan.head_dim);
  some.head_dim = plan.head_dim, some.first_dim = plan.first_dim, some.pairs = plan.pairs;
  posenc::detail::rotate_ranges<Layout, Layout>(
      some, {reinterpret_cast<posenc::pair_range const*>(plan.rotated), plan.rotated_count}, false,
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

// ---- Attention, a step

#if !defined(POSENC_KERNELS_FEWER)
#define POSENC_KERNELS_ATTEND attend
#define POSENC_KERNELS_STEP step
#else
#define POSENC_KERNELS_ATTEND nullptr
#define POSENC_KERNELS_STEP nullptr
#endif

}  // namespace

#if defined(POSENC_KERNELS_FEWER)
#define POSENC_KERNELS_FEWER_SET &POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_FEWER)
#else
#define POSENC_KERNELS_FEWER_SET nullptr
#endif
#define POSENC_KERNELS_JOINED(prefix, name) POSENC_KERNELS_JOINED_EXPANDED(prefix, name)
#define POSENC_KERNELS_JOINED_EXPANDED(prefix, name) prefix##name

#if defined(POSENC_KERNELS_FEWER)
extern instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_FEWER);
#endif
extern instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_SET);
instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_SET) = {
    .name = POSENC_KERNELS_TEXT(POSENC_KERNELS_SET),
    .fewer = POSENC_KERNELS_FEWER_SET,
    .rotate = functions.data(),
    .rotate_one_token = one_token_functions.data(),
    .attend = POSENC_KERNELS_ATTEND,
    .step = POSENC_KERNELS_STEP,
    .make_rows = make_rows,
    .make_rerotation = make_rerotation,
    .destroy_rows = destroy_rows,
    .rotated_pairs = rotated_pairs,
    .write_rows = write_rows};

}  // namespace posenc_kernels
