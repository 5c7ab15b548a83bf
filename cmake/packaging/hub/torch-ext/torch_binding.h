#pragma once

#include <ATen/ATen.h>

#include <string>

// The optional of this PyTorch: std's, or before 2.2 one of its own.
using maybe_tensor = decltype(c10::IValue().toOptional<at::Tensor>());

at::Tensor rows(at::Tensor const& inv_freq, at::Tensor const& positions, double attention_factor,
                at::ScalarType type);
at::Tensor rotate(at::Tensor const& x, at::Tensor const& rows, std::string const& layout,
                  int64_t first_dim);
void rotate_(at::Tensor& x, at::Tensor const& rows, std::string const& layout, int64_t first_dim);
at::Tensor attention(at::Tensor const& query, at::Tensor const& key, at::Tensor const& value,
                     bool causal, double scale, int64_t behind, int64_t ahead, double cap,
                     maybe_tensor const& sinks, maybe_tensor const& lengths);
