// The norms of heads that engines have, before or after the rotation, and where they round.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc::inline POSENC_TARGET {

/// Root of the mean square, or of the sum of squares.
enum class norm_kind { rms, l2 };
/// Before the rotation (Qwen 3, Gemma 3), or after it (HunYuan, Llama 4, nanochat).
enum class norm_place { before, after };
/// What keeps a head of zeros finite, with r the mean or the sum of squares.
enum class norm_eps {
  inside,   ///< sqrt(r + eps)          nearly all
  outside,  ///< sqrt(r) + eps
  at_least  ///< max(sqrt(r), eps)      ggml's l2_norm, torch.nn.functional.normalize
};

/// x w / root for a head x [Zhang 2019]: w is the weight of its dim, 1 + weight if plus_one
/// (Gemma), 1 if there is none (Llama 4, nanochat, values of Gemma 4). W: any storage type; double
/// for heads of double alone. The weights must outlive the rotation. Squares are summed in its
/// arithmetic: in float, |x| above 1e19 overflows.
template <storable W = float>
struct head_norm {
  std::span<W const> weight = {};               ///< [head_dim], or empty
  arithmetic_t<W> eps = arithmetic_t<W>(1e-6);  ///< see norm_eps
  norm_kind kind = norm_kind::rms;              ///< of the mean, or of the sum
  norm_place place = norm_place::before;        ///< the rotation
  norm_eps eps_place = norm_eps::inside;        ///< of the root
  bool plus_one = false;                        ///< of the weights
};

/// Where the heads of a step are rounded to a storage type, beside the target's own rounding.
/// Nowhere, unless said: a fused step then computes in float from load to store.
struct rounding_points {
  bool normalised = false,  ///< x / root, before the weights
      norm = false,         ///< what the norm gives
      cosines = false,      ///< of the rows, and sines
      products = false,     ///< each product of the rotation, and their sum
      rotated = false;      ///< what the rotation gives, before the scale; then before encoding

  /// As norm, rotation and cache write in calls of their own, each of which computes in float: vLLM
  /// on CPUs. A fused call that leaves them out changes a model [TensorRT-LLM #14464].
  static constexpr rounding_points separate_calls() noexcept {
    return {.norm = true, .rotated = true};
  }
  /// As PyTorch computes modeling_*.py in this type: every operation rounds.
  static constexpr rounding_points hugging_face() noexcept {
    return {true, true, true, true, true};
  }
  /// As vLLM's fused norm and rotation, then its cache write: float between load and store, with
  /// rows of the model's type [fused_qknorm_rope_kernel.cu].
  static constexpr rounding_points vllm_fused() noexcept {
    return {.cosines = true, .rotated = true};
  }
  /// As FlashInfer's fused norm and rotation with a target of 8 bits: the norm's result alone; to
  /// 16 bits, separate_calls gives the same [FlashInfer #3148].
  static constexpr rounding_points flashinfer_fused() noexcept { return {.norm = true}; }
  /// As sglang's fused norm and rotation with round_norm_before_rope: from the norm's result on,
  /// every operation rounds, as do rows [sglang, qknorm_rope.cuh].
  static constexpr rounding_points sglang_fused() noexcept {
    return {.norm = true, .cosines = true, .products = true, .rotated = true};
  }
};

namespace detail {

/// The squares of the first dims of a head, as many as return says, in a register of sums.
template <class S>
[[gnu::always_inline]] inline std::size_t add_squares(S const* head, std::size_t count,
                                                      typename lanes<S>::number& sum) noexcept {
  typename lanes<S>::number sums[2] = {arithmetic_t<S>(0), arithmetic_t<S>(0)};
  std::size_t i = 0;
  for (; i + 2 * lanes<S>::size <= count; i += 2 * lanes<S>::size) {
    typename lanes<S>::number x[2];
    if constexpr (lanes<S>::size == 1) {
      x[0] = posenc::load(head[i]), x[1] = posenc::load(head[i + 1]);
    } else if constexpr (lanes<S>::free_deinterleave) {
      lanes<S>::load_pairs(head + i, x[0], x[1]);
    } else {
      halves::load<lanes<S>>(head + i, 0, lanes<S>::size, x[0], x[1]);
    }
    for (std::size_t j = 0; j < 2; ++j) sums[j] = lanes<S>::multiply_add(x[j], x[j], sums[j]);
  }
  sum = sums[0] + sums[1];
  return i;
}

/// scale / sqrt(mean square + eps) for up to Most heads: the gain that the rotation applies to
/// each. As many heads at a time as a register has numbers.
template <class Real, std::size_t Most>
struct head_gains {
  static_assert(Most % lanes<Real>::size == 0);
  Real values[Most];

  template <class S>
  void compute(S const* head, std::ptrdiff_t stride, std::size_t heads, std::size_t head_dim,
               Real eps, Real scale) noexcept {
    using arithmetic_lanes = lanes<Real>;
    using number = typename arithmetic_lanes::number;
    constexpr auto size = arithmetic_lanes::size;
    for (std::size_t first = 0; first < heads; first += size) {
      auto const count = std::min(size, heads - first);
      number squares[size];
      Real rest[size] = {};
      std::size_t done = 0;
      for (std::size_t i = 0; i < count; ++i, head += stride)
        done = add_squares(head, head_dim, squares[i]);
      for (auto i = count; i < size; ++i) squares[i] = squares[0];  // zeros would call memset
      auto sum = arithmetic_lanes::sums(squares);
      if (done < head_dim) {
        head -= static_cast<std::ptrdiff_t>(count) * stride;
        for (std::size_t i = 0; i < count; ++i, head += stride) {
          for (auto j = done; j < head_dim; ++j)
            rest[i] = multiply_add(posenc::load(head[j]), posenc::load(head[j]), rest[i]);
        }
        sum = sum + arithmetic_lanes::load(rest);
      }
      auto const mean_square = sum / number(static_cast<Real>(head_dim));
      arithmetic_lanes::store(
          values + first, number(scale) / arithmetic_lanes::square_root(mean_square + number(eps)));
    }
  }
};

/// The sum of the squares of a head.
template <class S>
arithmetic_t<S> sum_of_squares(S const* head, std::size_t count) noexcept {
  typename lanes<S>::number sums;
  auto const done = add_squares(head, count, sums);
  auto sum = lanes<S>::sum(sums);
  for (auto i = done; i < count; ++i)
    sum = multiply_add(posenc::load(head[i]), posenc::load(head[i]), sum);
  return sum;
}

/// No norm, no rounding.
struct nothing {};

template <class T, class Real>
void round_to([[maybe_unused]] std::span<Real> x, [[maybe_unused]] bool here) noexcept {
  if constexpr (!std::same_as<T, nothing>) {
    if (here)
      each_of(x.size(),
              [&](std::size_t i) { x[i] = static_cast<Real>(storage_format_t<T>(x[i])); });
  }
}

/// Norms a head. Round: what is rounded to, or nothing.
template <class Round, class W, class Real>
void apply_norm(head_norm<W> const& norm, std::span<Real> head,
                rounding_points const& points) noexcept {
  auto const squares = sum_of_squares(head.data(), head.size());
  auto const r = norm.kind == norm_kind::rms ? squares / static_cast<Real>(head.size()) : squares;
  auto const root = norm.eps_place == norm_eps::inside    ? std::sqrt(r + norm.eps)
                    : norm.eps_place == norm_eps::outside ? std::sqrt(r) + norm.eps
                                                          : std::max(std::sqrt(r), norm.eps);
  auto const gain = 1 / root;
  each_of(head.size(), [&](std::size_t i) { head[i] *= gain; });
  round_to<Round>(head, points.normalised);
  if (!norm.weight.empty()) {
    auto const one = norm.plus_one ? Real{1} : Real{0};
    each_of(head.size(), [&](std::size_t i) { head[i] *= load(norm.weight[i]) + one; });
  }
  round_to<Round>(head, points.norm);
}

}  // namespace detail
}  // namespace posenc
