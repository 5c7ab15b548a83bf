// From the gradients of a row's weights to those of its scores.
#pragma once

#include <cstddef>
#include <span>

#include "posenc/core/list_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// d_s -> factor * p_s (d_s - mean).
template <class T>
void softmax_gradients(T const* weights, T* gradients, std::size_t count, T mean,
                       T factor) noexcept {
  for (std::size_t s = 0; s < count; ++s) {
    gradients[s] = weights[s] == 0 ? T{0} : factor * weights[s] * (gradients[s] - mean);
  }
}

}  // namespace detail

/// For p = softmax(beta x), dp -> dx in place: dx_s = beta p_s (dp_s - sum_j p_j dp_j), with the
/// sum in double.
///
///     softmax(row, beta);  ...  softmax_backward(row, d_row, beta);
///
/// inverse_temperature, beta, counts as a constant, whatever rule it came from. Also correct with a
/// sink, when weights sum to less than 1. Keys of weight 0, masked ones among them, get gradient 0,
/// even if their dp is NaN.
/// weights, gradients: [keys]. Throws std::invalid_argument, before anything is changed, unless
/// they have the same size.
template <class Row>
void softmax_backward(std::span<detail::span_value_t<Row> const> weights, Row&& row,
                      double inverse_temperature = 1) {
  using T = detail::span_value_t<Row>;
  std::span<T> const gradients(row);
  detail::require(weights.size() == gradients.size(),
                  "softmax_backward: there must be one gradient for each of ", weights.size(),
                  " weights, got ", gradients.size());
  double mean = 0;
  for (std::size_t s = 0; s < weights.size(); ++s) {
    if (weights[s] != 0)
      mean += static_cast<double>(weights[s]) * static_cast<double>(gradients[s]);
  }
  detail::softmax_gradients(weights.data(), gradients.data(), weights.size(), static_cast<T>(mean),
                            static_cast<T>(inverse_temperature));
}

}  // namespace posenc
