// ggml's rotation, if ggml is installed: with its own trigonometry, on one thread, on its CPU
// backend.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace bench {

/// Rotates [tokens][heads][head_dim] numbers of its own in place, with frequencies 1e4^(-2i /
/// head_dim).
class ggml_rope {
 public:
  ggml_rope(std::size_t tokens, std::size_t heads, std::size_t head_dim, bool halves,
            std::vector<std::int64_t> const& positions) {
    [[maybe_unused]] static bool const are_loaded = (ggml_backend_load_all(), true);
    backend_.reset(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    if (!backend_) throw std::runtime_error("ggml has no CPU backend");
    auto* const registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend_.get()));
    auto const set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"));
    if (set_threads != nullptr) set_threads(backend_.get(), 1);

    context_.reset(ggml_init({ggml_tensor_overhead() * 8 + ggml_graph_overhead(), nullptr, true}));
    x_ = ggml_new_tensor_3d(context_.get(), GGML_TYPE_F32, static_cast<std::int64_t>(head_dim),
                            static_cast<std::int64_t>(heads), static_cast<std::int64_t>(tokens));
    auto* const at =
        ggml_new_tensor_1d(context_.get(), GGML_TYPE_I32, static_cast<std::int64_t>(tokens));
    auto* const rotated = ggml_rope_ext_inplace(
        context_.get(), x_, at, nullptr, static_cast<int>(head_dim),
        halves ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL, 0, 1e4f, 1, 0, 1, 32, 1);
    graph_ = ggml_new_graph(context_.get());
    ggml_build_forward_expand(graph_, rotated);
    buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend_.get()));
    std::vector<std::int32_t> const narrow(positions.begin(), positions.end());
    ggml_backend_tensor_set(at, narrow.data(), 0, narrow.size() * sizeof narrow[0]);
  }

  void set(std::vector<float> const& numbers) {
    ggml_backend_tensor_set(x_, numbers.data(), 0, numbers.size() * sizeof numbers[0]);
  }
  std::vector<float> get() const {
    std::vector<float> numbers(static_cast<std::size_t>(ggml_nelements(x_)));
    ggml_backend_tensor_get(x_, numbers.data(), 0, numbers.size() * sizeof numbers[0]);
    return numbers;
  }
  void rotate() { ggml_backend_graph_compute(backend_.get(), graph_); }

 private:
  template <auto release>
  struct releases {
    void operator()(auto* p) const { release(p); }
  };
  std::unique_ptr<ggml_backend, releases<ggml_backend_free>> backend_;
  std::unique_ptr<ggml_context, releases<ggml_free>> context_;
  std::unique_ptr<ggml_backend_buffer, releases<ggml_backend_buffer_free>> buffer_;
  ggml_tensor* x_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
};

}  // namespace bench
