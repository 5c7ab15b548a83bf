// The rotation as Eigen expressions: products of arrays; of complex numbers if pairs are
// interleaved. Float or double.
#pragma once

#include <Eigen/Core>

#include <complex>
#include <cstddef>

#include "posenc/heads/heads_view.hpp"

namespace bench {

template <class T>
[[gnu::noinline]] void eigen_halves(T* heads, posenc::heads_shape const& shape, std::size_t pairs,
                                    T const* cos_sin) {
  using numbers = Eigen::Array<T, Eigen::Dynamic, 1>;
  auto const n = static_cast<Eigen::Index>(pairs);
  numbers turned(n);
  for (std::size_t t = 0; t < shape.tokens; ++t, cos_sin += 2 * pairs) {
    Eigen::Map<numbers const> const cos(cos_sin, n), sin(cos_sin + n, n);
    for (std::size_t h = 0; h < shape.heads; ++h, heads += shape.head_dim) {
      Eigen::Map<numbers> x(heads, n), y(heads + n, n);
      turned = x * cos - y * sin;
      y = x * sin + y * cos;
      x = turned;
    }
  }
}

/// turns: cos + i sin.
template <class T>
[[gnu::noinline]] void eigen_interleaved(T* heads, posenc::heads_shape const& shape,
                                         std::size_t pairs, std::complex<T> const* turns) {
  using numbers = Eigen::Array<std::complex<T>, Eigen::Dynamic, 1>;
  auto const n = static_cast<Eigen::Index>(pairs);
  for (std::size_t t = 0; t < shape.tokens; ++t, turns += pairs) {
    Eigen::Map<numbers const> const turn(turns, n);
    for (std::size_t h = 0; h < shape.heads; ++h, heads += shape.head_dim)
      Eigen::Map<numbers>(reinterpret_cast<std::complex<T>*>(heads), n) *= turn;
  }
}

}  // namespace bench
