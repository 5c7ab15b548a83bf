// An operand from and to heads whose format and place are known at run time: posenc's own step.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/c/detail/planned_heads.hpp"
#include "posenc/c/detail/planned_rows.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/detail/step.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/operand.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

// Weights as floats, in memory where they are something else.
inline std::span<float const> weights(step_plan const& plan, float* memory) noexcept {
  auto const& norm = plan.norm;
  if (norm.weight == nullptr) return {};
  auto const format = static_cast<std::uint32_t>(norm.weight_format);
  if (format == POSENC1_F32 && norm.plus_one == 0)
    return {static_cast<float const*>(norm.weight), plan.head_dim};
  stored_heads const given{{}, {}, format, 1, 1};
  std::span const all(memory, plan.head_dim);
  any_format{&given}.decode(static_cast<std::byte const*>(norm.weight), nullptr, all);
  if (norm.plus_one != 0)
    for (auto& x : all) x += 1;
  return all;
}

template <class From, class To, bool Normalises, class Round>
void run_step(step_plan const& plan) {
  auto const rows = rows_of<float>(plan.rows, plan.all_tokens, plan.row_heads);
  auto const run = [&]<class Operand>(Operand const& heads) {
    step<Operand>(heads, rows, plan.first_dim)
        .run({plan.token, plan.tokens, plan.head, plan.heads});
  };
  auto const rounded = [&](auto const& heads) {
    if constexpr (std::is_void_v<Round>) {
      run(heads);
    } else {
      auto const at = [&](unsigned point) { return (plan.rounding & point) != 0; };
      run(heads.template round<Round>({.normalised = at(POSENC1_ROUND_NORMALISED),
                                       .norm = at(POSENC1_ROUND_NORM),
                                       .cosines = at(POSENC1_ROUND_COSINES),
                                       .products = at(POSENC1_ROUND_PRODUCTS),
                                       .rotated = at(POSENC1_ROUND_ROTATED)}));
    }
  };
  auto const normalised = [&](auto const& heads) {
    if constexpr (Normalises) {
      float memory[most_head_dim];
      auto const& norm = plan.norm;
      // Heads without a norm have none in either place.
      auto const eps = static_cast<float>(norm.eps);
      rounded(heads.norm(
          head_norm<float>{.weight = weights(plan, memory),
                           .eps = eps > 0 ? eps : 1,
                           .kind = static_cast<norm_kind>(norm.kind),
                           .place = eps > 0 ? static_cast<norm_place>(norm.place) : norm_place{2},
                           .eps_place = static_cast<norm_eps>(norm.eps_place)}));
    } else {
      rounded(heads);
    }
  };
  heads_shape const shape{plan.all_tokens, plan.all_heads, plan.head_dim};
  planned_part const first{nullptr, plan.first_token, 0};
  auto const from = view_of<any_format const>(plan.from, shape, first);
  both const to{view_of<any_format>(plan.to[0], shape, first),
                view_of<any_format>(plan.to[1], shape, first)};
  auto const transformed = [&](auto const& heads) {
    normalised(
        heads.scale(plan.factor).from_hadamard(plan.source_block).hadamard(plan.target_block));
  };
  if constexpr (std::is_void_v<From>) {
    transformed(unrotated(from, to));
  } else {
    transformed(rotated<From, To>(from, to));
  }
}

inline void step(step_plan const& plan) noexcept {
  auto const with = [&]<class From, class To>(From*, To*) {
    if (plan.rounding != 0) {
      return plan.rounded_to == POSENC1_F16 ? run_step<From, To, true, half>(plan)
                                            : run_step<From, To, true, bfloat16>(plan);
    }
    return plan.norm.eps > 0 ? run_step<From, To, true, void>(plan)
                             : run_step<From, To, false, void>(plan);
  };
  constexpr halves* h = nullptr;
  constexpr interleaved* i = nullptr;
  constexpr void* none = nullptr;
  if (plan.rows.pairs == 0) return with(none, none);
  if (plan.from_layout == 0) return plan.to_layout == 0 ? with(h, h) : with(h, i);
  return plan.to_layout == 0 ? with(i, h) : with(i, i);
}

inline void hadamard(hadamard_plan const& plan) noexcept {
  auto const of = [&]<class T>(T) {
    posenc::hadamard(numbers_at<T>(plan.at, {plan.tokens, plan.heads, plan.head_dim}), plan.block);
  };
  switch (plan.type + 1) {
    case POSENC1_F32:
      return of(float());
    case POSENC1_F64:
      return of(double());
    case POSENC1_F16:
      return of(half());
    default:
      return of(bfloat16());
  }
}

}}}  // namespace c_set
