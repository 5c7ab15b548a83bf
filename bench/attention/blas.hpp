// Products and attention of a BLAS behind Eigen (EIGEN_USE_BLAS): a shared library of its own,
// since a whole program has one kind of product. One head, [n][dim] contiguous, on one thread.
#pragma once

#include <cstddef>

extern "C" {
/// QK^T and PV of all queries and keys. scores: [n][n], outputs: [n][dim].
[[gnu::visibility("default")]] void posenc_bench_blas_products(float const* q, float const* k,
                                                               float const* v, std::size_t n,
                                                               std::size_t dim, float* scores,
                                                               float* outputs);
/// posenc's attention under a causal mask. Returns the outputs, until the next call.
[[gnu::visibility("default")]] float const* posenc_bench_blas_attention(
    float const* q, float const* k, float const* v, std::size_t n, std::size_t dim);
}
