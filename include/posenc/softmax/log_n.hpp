// log n: sharpens rows with more keys than in training.
#pragma once

#include <cmath>

#include "posenc/core/require.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// max(1, ln n / ln L); 1 for n below 1.
class log_of_length {
 public:
  constexpr log_of_length(char const* rule, double trained_length)
      : trained_length_(trained_length) {
    require(is_finite(trained_length) && trained_length > 1, rule,
            ": trained_length must be finite and above 1, got ", trained_length);
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
/// log_n_by_position counts.
struct log_n : detail::log_of_length {
  /// Throws std::invalid_argument unless trained_length is finite and above 1.
  explicit constexpr log_n(double trained_length) : log_of_length("log_n", trained_length) {}

  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    return beta(static_cast<double>(row.keys));
  }
};

/// beta = max(1, ln(p + 1) / ln L), p being the query's position, counted from 0: Qwen-1's
/// use_logn_attn (L = seq_length) and ReRoPE's code. [modeling_qwen.py, logn_tensor] Above 1 from p
/// = L on; 1 at earlier and at negative positions.
struct log_n_by_position : detail::log_of_length {
  /// Throws std::invalid_argument unless trained_length is finite and above 1.
  explicit constexpr log_n_by_position(double trained_length)
      : log_of_length("log_n_by_position", trained_length) {}

  /// Site 4.
  double inverse_temperature(row_statistics const& row) const noexcept {
    return beta(static_cast<double>(row.query_position) + 1);
  }
};

static_assert(acts_on_softmax<log_n> && acts_on_softmax<log_n_by_position>);

}  // namespace posenc
