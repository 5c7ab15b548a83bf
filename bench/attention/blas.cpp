#include "blas.hpp"

#include <Eigen/Core>

#include <cstddef>

#include "posenc/attention/attention.hpp"

extern "C" void openblas_set_num_threads(int);

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

int const on_one_thread = (openblas_set_num_threads(1), 1);

}  // namespace

void posenc_bench_blas_products(float const* q, float const* k, float const* v, std::size_t n,
                                std::size_t dim, float* scores, float* outputs) {
  auto const rows = static_cast<Eigen::Index>(n), columns = static_cast<Eigen::Index>(dim);
  using view = Eigen::Map<matrix const>;
  Eigen::Map<matrix> s(scores, rows, rows);
  s.noalias() = view(q, rows, columns) * view(k, rows, columns).transpose();
  Eigen::Map<matrix>(outputs, rows, columns).noalias() = s * view(v, rows, columns);
}

float const* posenc_bench_blas_attention(float const* q, float const* k, float const* v,
                                         std::size_t n, std::size_t dim) {
  static posenc::attention_workspace<float> workspace;
  using view = posenc::heads_view<float const>;
  return posenc::attention(view(q, {n, 1, dim}), view(k, {n, 1, dim}), view(v, {n, 1, dim}),
                           posenc::nope(), {}, workspace)
      .outputs.data();
}
