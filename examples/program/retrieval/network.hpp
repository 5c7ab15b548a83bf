// One attention head that looks for the item of the largest priority [Velickovic 2024].
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "layers.hpp"
#include "task.hpp"

namespace retrieval {

/// With MLPs psi and phi of one hidden layer of GELUs:
///
///     h_i = psi_x(x_i), h_q = psi_q(q), z = sum_i softmax_i(<h_q W_Q, h_i W_K> / sqrt(width)) h_i
///     W_V, logits = phi(z)
///
/// Gradients, and an optimiser's moments, have the same shape.
template <class T>
struct network {
  linear<T> item_hidden, item_out, query_hidden, query_out, answer_hidden, answer_out;
  matrix<T> w_q, w_k, w_v;
};

/// what(the same tensor of each of the networks), tensor by tensor.
void for_each_tensor(auto&& what, auto&&... networks) {
  auto const both = [&](auto&&... layers) { what(layers.w...), what(layers.b...); };
  both(networks.item_hidden...), both(networks.item_out...);
  both(networks.query_hidden...), both(networks.query_out...);
  what(networks.w_q...), what(networks.w_k...), what(networks.w_v...);
  both(networks.answer_hidden...), both(networks.answer_out...);
}

/// All zeros.
template <class T>
network<T> blank_network(Eigen::Index width) {
  auto const layer = [](Eigen::Index inputs, Eigen::Index outputs) {
    return linear<T>{matrix<T>::Zero(inputs, outputs), matrix<T>::Zero(1, outputs)};
  };
  auto const square = [&] { return matrix<T>(matrix<T>::Zero(width, width)); };
  return {layer(1 + classes, width),
          layer(width, width),
          layer(1, width),
          layer(width, width),
          layer(width, width),
          layer(width, classes),
          square(),
          square(),
          square()};
}

/// Weights uniform, of variance 1 / inputs; biases 0.
template <class T>
network<T> random_network(Eigen::Index width, random_numbers& random) {
  auto n = blank_network<T>(width);
  for (auto* const w : {&n.item_hidden.w, &n.item_out.w, &n.query_hidden.w, &n.query_out.w, &n.w_q,
                        &n.w_k, &n.w_v, &n.answer_hidden.w, &n.answer_out.w}) {
    auto const bound = std::sqrt(3.0 / static_cast<double>(w->rows()));
    for (auto& x : w->reshaped())
      x = static_cast<T>(bound * (2 * static_cast<double>(random.unit()) - 1));
  }
  return n;
}

}  // namespace retrieval
