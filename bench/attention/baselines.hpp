// What attention is compared with: the code that users would write. One head, [tokens][head_dim]
// contiguous, float, causal.
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace bench {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct qkv {
  matrix q, k, v;
  Eigen::Index tokens() const { return q.rows(); }
  Eigen::Index head_dim() const { return q.cols(); }
};

/// Three loops per query, as in a textbook in C.
inline void attend_by_loops(qkv const& x, matrix& outputs) {
  auto const n = x.tokens(), d = x.head_dim();
  auto const scale = 1 / std::sqrt(static_cast<float>(d));
  std::vector<float> weights(static_cast<std::size_t>(n));
  for (Eigen::Index t = 0; t < n; ++t) {
    auto* const w = weights.data();
    auto most = -std::numeric_limits<float>::max();
    for (Eigen::Index s = 0; s <= t; ++s) {
      float sum = 0;
      for (Eigen::Index i = 0; i < d; ++i) sum += x.q(t, i) * x.k(s, i);
      w[s] = sum * scale;
      most = std::max(most, w[s]);
    }
    float all = 0;
    for (Eigen::Index s = 0; s <= t; ++s) all += w[s] = std::exp(w[s] - most);
    for (Eigen::Index i = 0; i < d; ++i) outputs(t, i) = 0;
    for (Eigen::Index s = 0; s <= t; ++s) {
      for (Eigen::Index i = 0; i < d; ++i) outputs(t, i) += w[s] / all * x.v(s, i);
    }
  }
}

/// Two matrix products, with a softmax of all scores between them.
inline void attend_by_matrices(qkv const& x, matrix& scores, matrix& outputs) {
  scores.noalias() = x.q * x.k.transpose();
  scores *= 1 / std::sqrt(static_cast<float>(x.head_dim()));
  for (Eigen::Index t = 0; t < x.tokens(); ++t) {
    auto seen = scores.row(t).head(t + 1).array();
    seen = (seen - seen.maxCoeff()).exp();
    seen /= seen.sum();
    scores.row(t).tail(x.tokens() - t - 1).setZero();
  }
  outputs.noalias() = scores * x.v;
}

}  // namespace bench
