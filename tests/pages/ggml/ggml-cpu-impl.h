/* What ggml declares of its CPU backend, as far as the file on the page of include/posenc/adapter/ needs it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ggml_type { GGML_TYPE_F32 = 0 };
struct ggml_threadpool;
struct ggml_tensor {
  enum ggml_type type;
  int64_t ne[4];
  size_t nb[4];
  int32_t op_params[16];
  struct ggml_tensor* src[10];
  void* data;
};
struct ggml_compute_params {
  int ith, nth;
  size_t wsize;
  void* wdata;
  struct ggml_threadpool* threadpool;
  bool use_ref;
};
static inline void ggml_barrier(struct ggml_threadpool* tp) { (void)tp; }

#ifdef __cplusplus
}
#endif
