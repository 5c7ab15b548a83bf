// The numbers of a model's tensors in one or several GGUF files, row by row, so that files larger
// than memory can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/gguf/metadata.hpp"

/// How ggml stores numbers of a type: in blocks, each decoded by itself. All are little-endian; a
/// half is IEEE's of 16 bits.
///
///     F32, F16, BF16   one number
///     Q8_0    32 numbers, 34 bytes: half d, 32 signed q: d q
///     Q4_K   256 numbers, 144 bytes: half d, half m, 12 bytes of scales, 128 of q
///
/// The 256 are 8 parts of 32, each with a scale s and a least value l of 6 bits: d s q - m l. Bytes
/// 0-3 of the scales have the s of parts 0-3 in their low 6 bits, bytes 4-7 their l; bytes 8-11 the
/// low 4 bits of s, and above them those of l, of parts 4-7, whose high 2 bits are the high 2 of
/// bytes 0-3 (s) and 4-7 (l). Each 32 bytes of q have part 2i in their low 4 bits, 2i + 1 in the
/// high ones. [ggml-org/ggml, docs/gguf.md and src/ggml-common.h]
struct block_format {
  std::uint32_t type;  ///< ggml's number
  std::string_view name;
  std::size_t numbers, bytes;  ///< of a block
  void (*decode)(unsigned char const* bytes, float* numbers);
};

/// The formats that can be read; null for another type.
block_format const* format_of(std::uint32_t type);

/// A GGUF file, or the files of a model by the first of them, read by seeking. Throws
/// std::runtime_error for a file that cannot be read, std::invalid_argument as
/// posenc::read_gguf_metadata does.
class tensor_file {
 public:
  explicit tensor_file(std::string file);

  std::string const& file() const { return file_; }
  posenc::gguf_metadata const& header() const { return *header_; }
  bool has(std::string const& name) const { return header_->has_tensor(name); }
  /// Throws std::runtime_error if there is none of this name.
  posenc::gguf_tensor const& tensor(std::string const& name) const;

  /// Calls use(row, numbers) for rows first to first + count - 1 of a tensor [rows][columns], a
  /// list of numbers being one row. Throws std::runtime_error before the first call if there is no
  /// such tensor, its type is unknown, its rows are no whole blocks, or its bytes are not all in
  /// the file; and where a number is not finite.
  void rows(std::string const& name, std::uint64_t first, std::uint64_t count,
            std::function<void(std::uint64_t row, std::span<float const> numbers)> const& use);

 private:
  struct part {
    std::ifstream in;
    std::uint64_t size;
  };
  [[noreturn]] void refuse(std::string const& name, std::string const& why) const;

  std::string file_;
  std::unique_ptr<posenc::gguf_metadata const> header_;
  std::vector<part> parts_;  // as those of the header
};
