// How far apart the matrices of a head let scores be.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/analysis/detail/eigen.hpp"
#include "posenc/analysis/score_by_frequency.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Bounds on the spread of one query's scores, largest less smallest. They hold if the query's
/// input y and the keys' inputs x have norms of at most 1. Otherwise multiply by |y| max |x|; if
/// scores are scaled, by 1 / sqrt(head_dim) too.
struct spread_bounds {
  double norms;      ///< 2 s(W_q) s(W_k): also under RoPE, which keeps norms, at any positions
  double pairs;      ///< 2 sum_i s(W_q,i) s(W_k,i): the same, pair by pair; the smaller one counts
  double unrotated;  ///< 2 s(W_q^T W_k): without rotation alone (NoPE), and attained there
};

/// The bound of one head, from its rows of W_q and W_k, [head_dim][inputs], as PyTorch and GGUF
/// store them. s(W) is the largest singular value of W, and W_i has the two rows of pair i. Rows
/// beyond rotary_dim count as one pair. `norms` is [Velickovic 2024, Proposition 3.1]. A bound
/// exceeds its exact value by at most 1e-8; `unrotated` is within 1e-8 of `norms`. Throws
/// std::invalid_argument unless head_dim divides the numbers of both matrices, which are finite,
/// and rotary_dim is even and at most head_dim.
template <pair_layout Layout, head_vector Q, head_vector K>
spread_bounds spread_bound(Q const& w_q, K const& w_k, std::size_t head_dim,
                           std::size_t rotary_dim) {
  detail::require(head_dim > 0 && rotary_dim % 2 == 0 && rotary_dim <= head_dim,
                  "spread_bound: head_dim must be positive, rotary_dim even and at most that, got ",
                  head_dim, " and ", rotary_dim);
  double factor = 2;
  auto const products_of_rows = [&](char const* name, auto const& weights) -> Eigen::MatrixXd {
    std::span const given(weights);
    detail::require(!given.empty() && given.size() % head_dim == 0, "spread_bound: ", name,
                    " must have a multiple of ", head_dim, " numbers, got ", given.size());
    Eigen::MatrixXd w(given.size() / head_dim, head_dim);  // a column has the weights of a dim
    for (std::size_t i = 0; i < given.size(); ++i) {
      auto const x = w.data()[i] = static_cast<double>(load(given[i]));
      detail::require(is_finite(x), "spread_bound: ", name, " must be finite, got ", x, " at ", i);
    }
    auto const largest = w.cwiseAbs().maxCoeff() + 1e-307;
    factor *= largest;
    w /= largest;  // so that no square is lost
    return w.transpose() * w;
  };
  // lambda <= tr(A^m)^(1/m) <= n^(1/m) lambda, m = 2^30, where no eigenvalue of A is negative.
  auto const largest_eigenvalue = [](Eigen::MatrixXd a) {
    double logarithm = 0;
    for (int step = 0; step <= 30; ++step) {
      auto const trace = a.trace();
      if (!(trace > 0)) return 0.0;
      logarithm += std::ldexp(std::log(trace), -step);
      a = (a / trace * (a / trace)).eval();
    }
    return std::exp(logarithm);
  };
  auto const q = products_of_rows("w_q", w_q), k = products_of_rows("w_k", w_k);
  auto const bound = [&](auto const& a, auto const& b) {
    return factor * std::sqrt(largest_eigenvalue(a) * largest_eigenvalue(b));
  };
  spread_bounds result{bound(q, k), 0, factor * std::sqrt(largest_eigenvalue(q * k))};
  for (std::size_t i = 0, pairs = rotary_dim / 2; i <= pairs; ++i) {
    std::vector<std::size_t> dims;
    if (i < pairs) dims = {Layout::x_index(i, pairs), Layout::y_index(i, pairs)};
    for (auto dim = rotary_dim; i == pairs && dim < head_dim; ++dim) dims.push_back(dim);
    result.pairs += bound(q(dims, dims), k(dims, dims));
  }
  return result;
}

}}  // namespace posenc
