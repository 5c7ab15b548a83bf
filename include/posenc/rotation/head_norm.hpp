// The norms of heads that engines have, before or after the rotation, and where they round.
#pragma once

#include <span>

#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Root of the mean square, or of the sum of squares.
enum class norm_kind { rms, l2 };
/// A norm before the rotation (Qwen 3, Gemma 3), or after it (HunYuan, Llama 4, nanochat).
enum class norm_place { before, after };
/// The place of eps, which keeps a head of zeros finite; r is the mean or the sum of squares.
enum class norm_eps {
  inside,   ///< sqrt(r + eps)          nearly all
  outside,  ///< sqrt(r) + eps
  at_least  ///< max(sqrt(r), eps)      ggml's l2_norm, torch.nn.functional.normalize
};

/// x w / root for a head x [Zhang 2019]: w is the weight of its dim, 1 + weight if plus_one
/// (Gemma), 1 if there is none (Llama 4, nanochat, values of Gemma 4). W: any storage type; double
/// for heads of double alone. The weights must outlive the norm: a
/// vector without a name is a compile error. Squares are summed in its
/// arithmetic: in float, |x| above 1e19 overflows.
template <storable W = float>
struct head_norm {
  viewed<W> weight = {};                        ///< [head_dim], or empty
  arithmetic_t<W> eps = arithmetic_t<W>(1e-6);  ///< see norm_eps
  norm_kind kind = norm_kind::rms;              ///< of the mean, or of the sum
  norm_place place = norm_place::before;        ///< the rotation
  norm_eps eps_place = norm_eps::inside;        ///< of the root
  bool plus_one = false;                        ///< of the weights
};

/// The points where the heads of a step are rounded to a storage type, besides the rounding of the
/// target. By default there are none: a fused step computes in float from load to store.
struct rounding_points {
  bool normalised = false,  ///< x / root, before the weights
      norm = false,         ///< what the norm gives
      cosines = false,      ///< of the rows, and sines
      products = false,     ///< each product of the rotation, and their sum
      rotated = false;      ///< what the rotation gives, before the scale; then before encoding

  /// As three separate calls for norm, rotation and cache round, each of which computes in float:
  /// vLLM on CPUs. A fused call that leaves them out changes a model [TensorRT-LLM #14464].
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

}}  // namespace posenc
