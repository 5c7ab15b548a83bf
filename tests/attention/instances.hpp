#pragma once

/// Attention of the types that several tests use, compiled once: in instances.cpp.

#include "attention/any_encoding.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace instances {

using namespace posenc;
using one_task = decltype(detail::one_task());
template <class S>
using view = heads_view<S const>;
using rotated = rope<halves>;
using rotated_and_biased = scheme<rotated, alibi>;
using at_three_sites = scheme<rotated, alibi, adaptive_temperature>;

}  // namespace instances

// clang-format off
#define POSENC_PRODUCTS(EXTERN, T)                                                                 \
  EXTERN template void posenc::detail::multiply_scores<T>(                                         \
      T*, T, T const*, tile_panels<T>&, block_shape const&);                                       \
  EXTERN template void posenc::detail::multiply_outputs<T>(                                        \
      T*, T const*, tile_panels<T>&, block_shape const&, double const*);                           \
  EXTERN template void posenc::detail::add_transposed_product<T>(                                  \
      posenc::heads_view<T> const&, T const*, T const*, block_shape const&);
#define POSENC_ATTENTION(EXTERN, T, ENCODING)                                                      \
  EXTERN template void posenc::detail::block_attention<T, ENCODING>::take(                         \
      std::atomic<std::size_t>&, std::size_t, instances::view<T> const&,                           \
      instances::view<T> const&, instances::view<T> const&);                                       \
  EXTERN template posenc::attention_result<T> const& posenc::attention(                            \
      instances::one_task const&, instances::view<T> const&, instances::view<T> const&,            \
      instances::view<T> const&, ENCODING const&, posenc::attention_options const&,                \
      posenc::attention_workspace<T>&);
#define POSENC_BACKWARD(EXTERN, T, ENCODING)                                                       \
  EXTERN template posenc::attention_gradients<T> const& posenc::attention_backward(                \
      instances::view<T> const&, instances::view<T> const&, instances::view<T> const&,             \
      ENCODING const&, posenc::attention_result<T> const&, instances::view<T> const&,              \
      posenc::attention_options const&, posenc::gradients_workspace<T>&);
#define POSENC_INSTANCES(EXTERN)                                                                   \
  POSENC_PRODUCTS(EXTERN, float)                                                                   \
  POSENC_PRODUCTS(EXTERN, double)                                                                  \
  POSENC_ATTENTION(EXTERN, float, posenc::nope)                                                    \
  POSENC_ATTENTION(EXTERN, double, posenc::nope)                                                   \
  POSENC_ATTENTION(EXTERN, float, posenc::alibi)                                                   \
  POSENC_ATTENTION(EXTERN, double, posenc::alibi)                                                  \
  POSENC_ATTENTION(EXTERN, float, instances::rotated)                                              \
  POSENC_ATTENTION(EXTERN, double, instances::rotated)                                             \
  POSENC_ATTENTION(EXTERN, float, instances::rotated_and_biased)                                   \
  POSENC_ATTENTION(EXTERN, double, instances::rotated_and_biased)                                  \
  POSENC_ATTENTION(EXTERN, float, instances::at_three_sites)                                       \
  POSENC_ATTENTION(EXTERN, double, instances::at_three_sites)                                      \
  POSENC_ATTENTION(EXTERN, float, textbook::any_encoding)                                          \
  POSENC_ATTENTION(EXTERN, double, textbook::any_encoding)                                         \
  POSENC_BACKWARD(EXTERN, float, posenc::nope)                                                     \
  POSENC_BACKWARD(EXTERN, double, posenc::nope)                                                    \
  POSENC_BACKWARD(EXTERN, float, instances::rotated_and_biased)                                    \
  POSENC_BACKWARD(EXTERN, double, instances::rotated_and_biased)                                   \
  POSENC_BACKWARD(EXTERN, double, textbook::any_encoding)
// clang-format on

#if !defined(POSENC_TEST_INSTANCES)
POSENC_INSTANCES(extern)
#endif
