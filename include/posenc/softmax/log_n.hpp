// Rows are sharpened by how many keys they see, or by the query's position: log n, SSMax, Llama 4.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// max(1, ln n / ln L); 1 for n below 1.
class log_of_length {
 public:
  constexpr log_of_length(char const* rule, double trained_length)
      : trained_length_(trained_length) {
    require_above_1(rule, "trained_length", trained_length);
  }

 protected:
  double beta(double n) const noexcept {
    return n > trained_length_ ? std::log(n) / std::log(trained_length_) : 1;
  }

 private:
  double trained_length_;
};

}  // namespace detail

/// beta = max(1, ln n / ln L), n being the number of keys that the row sees and L = trained_length
/// in tokens. For models trained with n up to L. [Su 2021, kexue 8823; Su 2023, kexue 9708] Keeps
/// the entropy of a row near its value at L. With a window or a mask a row sees fewer keys than
/// log_n_by_position counts. Multiplies scores after a cap and a bias, if there are: then it is not
/// a factor on queries.
struct log_n : detail::log_of_length {
  /// Throws std::invalid_argument unless trained_length is finite and above 1.
  explicit constexpr log_n(double trained_length) : log_of_length("log_n", trained_length) {}

  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    return beta(static_cast<double>(row.keys));
  }
};

/// beta = max(1, ln(p + 1) / ln L), p being the query's position, counted from 0: Qwen-1's
/// use_logn_attn (L = seq_length) and ReRoPE's code, both on queries: the same but for a cap or a
/// bias, as in log_n. [modeling_qwen.py, logn_tensor] Above 1 from p = L on; 1 at earlier and at
/// negative positions.
struct log_n_by_position : detail::log_of_length {
  /// Throws unless trained_length is finite and above 1.
  explicit constexpr log_n_by_position(double trained_length)
      : log_of_length("log_n_by_position", trained_length) {}

  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    return beta(static_cast<double>(row.query_position) + 1);
  }
};

/// Scalable softmax without learned parameters: beta = ln n, n being the number of keys that the
/// row sees, so that e^x becomes n^x. [Nakanishi 2025, "without scaling parameter"] For n = 2 beta
/// is below 1, which flattens; for n below 2, where no temperature changes the weights, it is 1,
/// not ln 1 = 0: 0 times a masked score would be NaN.
struct ssmax_without_scale {
  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    return row.keys < 2 ? 1 : std::log(static_cast<double>(row.keys));
  }
};

/// Scalable softmax: beta = s_h ln n + b_h, for scores already divided by sqrt(head_dim), after a
/// cap and a bias: only without these is it a factor on queries. [Nakanishi 2025, 2]
///
///     softmax(x)_i = n^(s x_i) / sum_j n^(s x_j)          if b = 0
///
/// If s D > 1, a key whose score exceeds all others by D keeps its weight for any number of keys:
/// at s = 0.43 and D = 3 it is 0.70 with 16 keys and 0.97 with 131072; with softmax, 0.57 and
/// 0.00015. Rows of fewer than two keys are as in ssmax_without_scale. Throws unless there is at
/// least one head, each scale is finite and positive, there are no biases or as many as scales, and
/// beta is finite and positive for two keys, hence for more.
class ssmax {
 public:
  /// scales: s, [heads] of one layer. biases: b, [heads].
  explicit ssmax(std::vector<double> scales, std::vector<double> biases = {})
      : scales_(std::move(scales)), biases_(std::move(biases)) {
    check("ssmax", scales_, biases_);
    if (biases_.empty()) biases_ = std::vector<double>(scales_.size());
  }
  /// The same check, in the name of a function.
  static void check(char const* function, std::span<double const> scales,
                    std::span<double const> biases) {
    detail::require(!scales.empty(), function,
                    ": there must be a scale for at least one head, got none");
    detail::require(biases.empty() || biases.size() == scales.size(), function,
                    ": there must be no biases or as many as scales, got ", biases.size(),
                    " biases for ", scales.size(), " scales");
    for (std::size_t head = 0; head < scales.size(); ++head) {
      auto const s = scales[head], b = biases.empty() ? 0 : biases[head];
      detail::require(is_finite(s) && s > 0, function, ": scales must be finite and positive, got ",
                      s, " for head ", head);
      detail::require(is_finite(b) && s * std::log(2.0) + b > 0, function,
                      ": biases must be finite and above -scale ln 2, got ", b, " for head ", head);
    }
  }

  std::size_t heads() const noexcept { return scales_.size(); }  ///< of queries

  /// Site 4. Throws unless the row's head has a scale.
  double inverse_temperature(row_statistics const& row) const {
    detail::require(row.head < heads(), "ssmax: the head must be below ", heads(), ", got ",
                    row.head);
    if (row.keys < 2) return 1;
    return scales_[row.head] * std::log(static_cast<double>(row.keys)) + biases_[row.head];
  }

 private:
  std::vector<double> scales_, biases_;
};

/// beta = 1 + scale * ln(1 + floor((position + offset) / floor_scale)), by the query's position. 1
/// within the first floor_scale positions and at negative ones. Equals the models' factor on
/// queries only without a cap and a bias: site 4 multiplies what these made of the scores. Plain
/// data, as in a model's configuration, which llama4_temperature and mistral_temperature check:
/// scale finite and not negative, floor_scale finite and positive, offset finite.
struct position_temperature {
  double scale;        ///< of the logarithm; 0: beta is 1
  double floor_scale;  ///< in tokens
  double offset;       ///< in tokens

  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    auto const at = static_cast<double>(row.query_position) + offset;
    auto steps = std::floor(at / floor_scale);
    if ((steps + 1) * floor_scale <= at) ++steps;  // at / floor_scale may be a rounded product
    return 1 + scale * std::log1p(std::max(steps, 0.0));
  }
  /// Throws std::invalid_argument, in the name of a function, unless the numbers are as said above.
  void check(char const* function) const {
    detail::require_not_negative(function, "scale", scale);
    detail::require_positive(function, "floor_scale", floor_scale);
    detail::require(is_finite(offset), function, ": offset must be finite, got ", offset);
  }
};

/// Llama 4, on its layers without rotation: 1 + scale ln(1 + floor((p + 1) / floor_scale)), above 1
/// from p = floor_scale - 1 on. [llama-models, llama4/model.py; modeling_llama4.py, attn_scale and
/// floor_scale] Throws as said above.
inline position_temperature llama4_temperature(double scale = 0.1, double floor_scale = 8192) {
  detail::require_not_negative("llama4_temperature", "scale", scale);
  detail::require_positive("llama4_temperature", "floor_scale", floor_scale);
  return {scale, floor_scale, 1};
}

/// Ministral 3 and Mistral 4, on all layers: 1 + beta ln(1 + floor(p / original_length)), with p,
/// not p + 1: above 1 from p = original_length on. [modeling_ministral3.py, llama_4_scaling_beta
/// and original_max_position_embeddings] Throws as llama4_temperature does.
inline position_temperature mistral_temperature(double beta, double original_length) {
  detail::require_not_negative("mistral_temperature", "beta", beta);
  detail::require_positive("mistral_temperature", "original_length", original_length);
  return {beta, original_length, 0};
}

static_assert(acts_on_softmax<log_n> && acts_on_softmax<log_n_by_position> &&
              acts_on_softmax<ssmax_without_scale> && acts_on_softmax<ssmax> &&
              acts_on_softmax<position_temperature>);

}}  // namespace posenc
