// The parameters of ggml's op GGML_OP_FLASH_ATTN_EXT. Needs no ggml.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The parameters of the op, in the first three words of a tensor's op_params.
struct ggml_attention_parameters {
  float scale, max_bias, logit_softcap;

  static ggml_attention_parameters of(std::int32_t const* op_params) noexcept {
    return detail::bit_cast<ggml_attention_parameters>(
        std::array{op_params[0], op_params[1], op_params[2]});
  }
  bool are_usable() const noexcept {
    return is_finite(static_cast<double>(scale)) && is_finite(static_cast<double>(max_bias)) &&
           is_finite(static_cast<double>(logit_softcap)) && max_bias >= 0;
  }
  /// On the mask, of a head of all: [ggml, ops.cpp] 2^(-max_bias / n), squared, ..., with n the
  /// largest power of 2 of heads; of the rest the odd powers of its root.
  double slope(std::size_t head, std::size_t heads) const noexcept {
    auto const n = std::bit_floor(heads), i = head < n ? 2 * (head + 1) : 2 * (head - n) + 1;
    return std::exp2(-static_cast<double>(max_bias) / 2 * static_cast<double>(i) /
                     static_cast<double>(n));
  }
};

}}}  // namespace posenc::detail
