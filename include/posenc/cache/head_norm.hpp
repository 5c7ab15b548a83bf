// The norms of heads that engines have, before or after the rotation, and where they round.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "posenc/cache/codes.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rms_norm.hpp"

namespace posenc::inline POSENC_TARGET {

/// Root of the mean square, or of the sum of squares.
enum class norm_kind { rms, l2 };
/// What keeps a head of zeros finite, with r the mean or the sum of squares.
enum class norm_eps {
  inside,   ///< sqrt(r + eps)          nearly all
  outside,  ///< sqrt(r) + eps
  at_least  ///< max(sqrt(r), eps)      ggml's l2_norm, torch.nn.functional.normalize
};

/// x w / root for a head x [Zhang 2019]: w is the weight of its dim, 1 + weight if plus_one
/// (Gemma), 1 if there is none (Llama 4, nanochat, values of Gemma 4). W: any storage type but
/// double. The weights must outlive the step.
template <storable W = float>
struct head_norm {
  std::span<W const> weight = {};         ///< [head_dim], or empty
  float eps = 1e-6f;                      ///< see norm_eps
  norm_kind kind = norm_kind::rms;        ///< of the mean, or of the sum
  norm_place place = norm_place::before;  ///< the rotation
  norm_eps eps_place = norm_eps::inside;  ///< of the root
  bool plus_one = false;                  ///< of the weights
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

/// No norm, no rounding.
struct nothing {};

template <class T>
void round_to([[maybe_unused]] std::span<float> x, [[maybe_unused]] bool here) noexcept {
  if constexpr (!std::same_as<T, nothing>) {
    if (here)
      each_of(x.size(),
              [&](std::size_t i) { x[i] = static_cast<float>(storage_format_t<T>(x[i])); });
  }
}

/// Norms a head. Round: what is rounded to, or nothing.
template <class Round, class W>
void apply_norm(head_norm<W> const& norm, std::span<float> head,
                rounding_points const& points) noexcept {
  auto const squares = sum_of_squares(head.data(), head.size());
  auto const r = norm.kind == norm_kind::rms ? squares / static_cast<float>(head.size()) : squares;
  auto const root = norm.eps_place == norm_eps::inside    ? std::sqrt(r + norm.eps)
                    : norm.eps_place == norm_eps::outside ? std::sqrt(r) + norm.eps
                                                          : std::max(std::sqrt(r), norm.eps);
  auto const gain = 1 / root;
  each_of(head.size(), [&](std::size_t i) { head[i] *= gain; });
  round_to<Round>(head, points.normalised);
  if (!norm.weight.empty()) {
    auto const one = norm.plus_one ? 1.0f : 0.0f;
    each_of(head.size(), [&](std::size_t i) { head[i] *= load(norm.weight[i]) + one; });
  }
  round_to<Round>(head, points.norm);
}

}  // namespace detail
}  // namespace posenc
