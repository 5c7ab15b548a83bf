// What networks are made of, forwards and backwards: a row a sample.
#pragma once

#include <cmath>
#include <numbers>

#include "posenc/analysis/detail/eigen.hpp"

namespace retrieval {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// y = x w + b. As a gradient: that of w and of b.
template <class T>
struct linear {
  matrix<T> w;  ///< [inputs][outputs]
  matrix<T> b;  ///< [1][outputs]

  matrix<T> operator()(matrix<T> const& x) const { return (x * w).rowwise() + b.row(0); }

  /// Adds to the gradient d of w and b; the gradient of x is d_y w^T.
  static void add_gradient(linear& d, matrix<T> const& x, matrix<T> const& d_y) {
    d.w.noalias() += x.transpose() * d_y;
    d.b += d_y.colwise().sum();
  }
};

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the tanh form [Hendrycks, Gimpel 2016], which is
/// what GELU means in JAX.
template <class T>
matrix<T> gelu(matrix<T> const& x) {
  auto const a = x.array();
  auto const inner =
      T(std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * a * (1 + T(0.044715) * a.square());
  return T(0.5) * a * (1 + inner.tanh());
}

/// The gradient of x from that of gelu(x).
template <class T>
matrix<T> gelu_backward(matrix<T> const& x, matrix<T> const& d_y) {
  constexpr auto c = T(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  auto const a = x.array();
  matrix<T> const t = (c * a * (1 + T(0.044715) * a.square())).tanh();
  auto const slope = c * (1 + T(3 * 0.044715) * a.square());
  return d_y.array() * T(0.5) * (1 + t.array() + a * (1 - t.array().square()) * slope);
}

}  // namespace retrieval
