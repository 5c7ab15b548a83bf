// Adam, the optimiser.
#pragma once

#include <cmath>

#include "network.hpp"

namespace retrieval {

/// [Kingma, Ba 2015, algorithm 1], with beta 0.9 and 0.999 and epsilon 1e-8.
template <class T>
class adam {
 public:
  explicit adam(Eigen::Index width)
      : mean_(blank_network<T>(width)), square_(blank_network<T>(width)) {}

  /// Down the gradient of the loss + l2 / 2 |weights|^2.
  void step(network<T>& weights, network<T> const& gradient, double rate, double l2) {
    ++steps_;
    auto const mean_share = T(1 / (1 - std::pow(0.9, steps_))),
               square_share = T(1 / (1 - std::pow(0.999, steps_)));
    auto const update = [&](matrix<T>& w, matrix<T> const& d, matrix<T>& mean, matrix<T>& square) {
      auto const g = d.array() + T(l2) * w.array();
      mean.array() = T(0.9) * mean.array() + T(0.1) * g;
      square.array() = T(0.999) * square.array() + T(0.001) * g.square();
      w.array() -=
          T(rate) * mean_share * mean.array() / ((square_share * square.array()).sqrt() + T(1e-8));
    };
    for_each_tensor(update, weights, gradient, mean_, square_);
  }

 private:
  network<T> mean_, square_;
  int steps_ = 0;
};

}  // namespace retrieval
