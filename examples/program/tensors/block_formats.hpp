// How files store numbers: alone, or in ggml's blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace program {

/// A type of tensors. Numbers are stored in blocks, each decoded by itself; all is little-endian.
struct block_format {
  std::uint32_t type;  ///< ggml's number
  std::string_view name;
  std::size_t numbers, bytes;  ///< of a block
  /// Decodes so many blocks that follow each other.
  void (*decode)(unsigned char const* from, std::size_t blocks, float* numbers);
};

/// The format of ggml's type; null for one that cannot be read.
block_format const* format_of(std::uint32_t ggml_type);
/// The format of a safetensors file's dtype: F32, F16 or BF16; null for another.
block_format const* format_of(std::string_view dtype);
/// The names of all: "F32, F16, ...", the last after "or".
std::string format_names();

}  // namespace program
