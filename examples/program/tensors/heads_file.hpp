// Queries or keys from a file: an array of NumPy, or a tensor of a GGUF file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "posenc/heads/heads_view.hpp"

struct heads_of_file {
  std::size_t tokens = 0, heads = 0, head_dim = 0;
  bool of_weights = false;           ///< tokens are the inputs of a matrix, each alone and 1
  std::vector<double> numbers = {};  ///< [tokens][heads][head_dim]

  posenc::heads_view<double const> view() const {
    return {numbers.data(), {.tokens = tokens, .heads = heads, .head_dim = head_dim}};
  }
};

/// FILE.npy, of float16, float32 or float64, or FILE.gguf:TENSOR or FILE.safetensors:TENSOR, of a
/// type that block_formats.hpp lists. Shapes, as NumPy says them: [head_dim], [tokens][head_dim] or
/// [tokens][heads][head_dim]; with a head_dim that is not 0 also [tokens][heads * head_dim]. A
/// matrix whose name ends in .weight is [heads * head_dim][inputs]; its columns are the
/// queries or keys of inputs that are 1.
///
/// Throws std::runtime_error, which names the file, unless it can be read and is one of these, of
/// numbers that are finite, or -infinity if they may be masked; and as program::weight_files does.
heads_of_file read_heads(std::string const& from, std::size_t head_dim, bool may_be_masked = false);
