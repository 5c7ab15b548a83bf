// ggml_flash_attention against ggml's own op on CPUs, where CMake finds ggml.
#if defined(POSENC_TESTS_GGML)

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "posenc/adapter/ggml_flash_attention.hpp"

namespace {

template <auto release>
struct releases {
  void operator()(auto* p) const { release(p); }
};

struct op_case {
  ggml_type type, type_of_values;
  std::int64_t dims, keys, queries, kv_heads, group, batches;
  bool has_mask, has_sinks;
  float max_bias, logit_softcap;
};

/// One op of ggml's, with random numbers.
class ggml_op {
 public:
  explicit ggml_op(op_case const& c) {
    [[maybe_unused]] static bool const are_loaded = (ggml_backend_load_all(), true);
    backend_.reset(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    context_.reset(ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true}));
    auto* const ctx = context_.get();
    auto const heads = c.kv_heads * c.group;
    // Queries and keys as llama.cpp has them: permuted, so that heads are not behind one another.
    auto const tensor = [&](ggml_type type, std::int64_t tokens, std::int64_t of) {
      return ggml_permute(ctx, leaf(ggml_new_tensor_4d(ctx, type, c.dims, of, tokens, c.batches)),
                          0, 2, 1, 3);
    };
    auto *const q = tensor(GGML_TYPE_F32, c.queries, heads),
                *const k = tensor(c.type, c.keys, c.kv_heads),
                *const v = tensor(c.type_of_values, c.keys, c.kv_heads);
    auto* const mask =
        c.has_mask ? leaf(ggml_new_tensor_4d(ctx, GGML_TYPE_F16, c.keys, c.queries, 1, c.batches))
                   : nullptr;
    out_ = ggml_flash_attn_ext(ctx, q, k, v, mask, 1 / std::sqrt(static_cast<float>(c.dims)),
                               c.max_bias, c.logit_softcap);
    if (c.has_sinks)
      ggml_flash_attn_ext_add_sinks(out_, leaf(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, heads)));
    ggml_flash_attn_ext_set_prec(out_, GGML_PREC_F32);
    graph_ = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph_, out_);
    buffer_.reset(ggml_backend_alloc_ctx_tensors(ctx, backend_.get()));
    for (auto* const x : leaves_) fill(x, x == mask);
  }

  std::vector<float> by_ggml() {
    ggml_backend_graph_compute(backend_.get(), graph_);
    return outputs();
  }
  std::vector<float> by_posenc() {
    std::memset(out_->data, 0xff, ggml_nbytes(out_));
    std::vector<std::byte> memory(posenc::ggml_flash_attention_bytes(*out_, 1));
    struct {
      int ith, nth;
      std::size_t wsize;
      void* wdata;
    } const params{0, 1, memory.size(), memory.data()};
    EXPECT_TRUE(posenc::ggml_flash_attention(params, *out_, [] {}));
    return outputs();
  }

 private:
  ggml_tensor* leaf(ggml_tensor* x) {
    leaves_.push_back(x);
    return x;
  }
  void fill(ggml_tensor* x, bool is_mask) {
    std::vector<float> numbers(static_cast<std::size_t>(ggml_nelements(x)));
    for (auto& number : numbers) {
      number = std::uniform_real_distribution<float>(-1, 1)(random_);
      if (is_mask && number > 0.5f) number = -std::numeric_limits<float>::infinity();
    }
    std::vector<std::byte> bytes(ggml_nbytes(x));
    if (x->type == GGML_TYPE_F32) {
      std::memcpy(bytes.data(), numbers.data(), bytes.size());
    } else {
      ggml_quantize_chunk(x->type, numbers.data(), bytes.data(), 0, ggml_nrows(x), x->ne[0],
                          nullptr);
    }
    ggml_backend_tensor_set(x, bytes.data(), 0, bytes.size());
  }
  std::vector<float> outputs() const {
    std::vector<float> numbers(static_cast<std::size_t>(ggml_nelements(out_)));
    ggml_backend_tensor_get(out_, numbers.data(), 0, numbers.size() * sizeof numbers[0]);
    return numbers;
  }

  std::mt19937 random_{7};
  std::unique_ptr<ggml_backend, releases<ggml_backend_free>> backend_;
  std::unique_ptr<ggml_context, releases<ggml_free>> context_;
  std::unique_ptr<ggml_backend_buffer, releases<ggml_backend_buffer_free>> buffer_;
  std::vector<ggml_tensor*> leaves_;
  ggml_tensor* out_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
};

// As far apart as ggml's own tests let backends be: a normalised square error of 5e-4. ggml sums
// halves in half, and multiplies keys in blocks with queries of q8_0.
void is_that_of_ggml(op_case const& c) {
  ggml_op op(c);
  auto const expected = op.by_ggml(), actual = op.by_posenc();
  double off = 0, all = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto const x = static_cast<double>(expected[i]), y = static_cast<double>(actual[i]);
    off += (x - y) * (x - y), all += x * x;
  }
  EXPECT_LE(off, 5e-4 * all) << ggml_type_name(c.type) << " and "
                             << ggml_type_name(c.type_of_values) << ", " << c.queries
                             << " queries, bias " << c.max_bias << ", cap " << c.logit_softcap;
}

constexpr ggml_type types[]{GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16,
                            GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,
                            GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_IQ4_NL};

TEST(ggml_flash_attention, is_that_of_ggml) {
  for (auto const type : types)
    for (std::int64_t const queries : {1, 3, 33})
      for (int rules = 0; rules < 6; ++rules)
        is_that_of_ggml({type, type, 64, 113, queries, 2, 4, 1 + rules % 2, rules > 0, rules == 2,
                         rules == 3 || rules == 5 ? 8.0f : 0, rules > 3 ? 10.0f : 0});
}

TEST(ggml_flash_attention, is_that_of_ggml_with_values_of_another_type) {
  for (auto const keys : types)
    for (auto const values : types)
      for (std::int64_t const queries : {1, 33})
        is_that_of_ggml({keys, values, 64, 113, queries, 2, 4, 1, true, false, 0, 0});
}

}  // namespace

#endif
