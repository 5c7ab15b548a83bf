// The tensors of a model's files, where they lie, and what else the files say of the model.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/gguf/metadata.hpp"
#include "posenc/model/model_description.hpp"
#include "program/tensors/block_formats.hpp"
#include "program/tensors/mapped_file.hpp"

namespace program {

/// The most numbers of a tensor.
inline constexpr std::uint64_t most_numbers = std::uint64_t{1} << 40;

/// A tensor of a model's files. A list of numbers is one row.
struct weight {
  std::string name;
  std::string file;                      ///< that has it
  std::vector<std::size_t> shape;        ///< as NumPy says it, the contiguous dim last
  std::string type;                      ///< as its file names it: BF16, or "ggml's type 19"
  block_format const* format = nullptr;  ///< null: a type that cannot be read
  std::span<unsigned char const> bytes;  ///< in the mapped file; empty if format is null

  std::size_t columns() const { return shape.empty() ? 1 : shape.back(); }
  std::size_t rows() const;
  /// Rows first to first + count - 1 as floats, [count][columns()]. There must be so many.
  void decode(std::size_t first, std::size_t count, float* numbers) const;
  /// Calls use(row, numbers) for these rows. Throws std::runtime_error if there are fewer, and
  /// where a number is not finite.
  void each_row(
      std::size_t first, std::size_t count,
      std::function<void(std::size_t row, std::span<float const> numbers)> const& use) const;
  /// "[4096, 1024]".
  std::string shown_shape() const;
  /// Throws std::runtime_error: "FILE:NAME: " and why.
  [[noreturn]] void refuse(std::string const& why) const;
};

/// The tensors that the bytes of a safetensors file have. Throws as weight_files does.
std::vector<weight> weights_of_safetensors(std::string const& file,
                                           std::span<unsigned char const> bytes);

/// The files of a model: a GGUF file, or the first of several, with the others beside it; or a
/// folder of Hugging Face, with config.json and model.safetensors, or with several and
/// model.safetensors.index.json. One of these three files stands for its folder, too, and another
/// .safetensors file for itself.
///
/// Throws std::runtime_error or std::invalid_argument, which name the file, for a file that cannot
/// be read, a header that is wrong, a tensor that is there twice, overlaps another or is not all in
/// its file. Safetensors need nlohmann-json. Safe to share between threads.
class weight_files {
 public:
  explicit weight_files(std::string model);

  std::string const& name() const { return name_; }  ///< as given
  bool is_gguf() const { return gguf_ != nullptr; }

  /// All, by name.
  std::span<weight const> all() const { return all_; }
  /// Null if there is none of this name. Throws std::runtime_error if its type cannot be read.
  weight const* find(std::string_view name) const;
  /// Throws std::runtime_error if there is none of this name, too.
  weight const& at(std::string_view name) const;

  /// Throws std::runtime_error unless there is a config.json, or a GGUF file; and as posenc's
  /// readers do.
  posenc::model_description description(bool as_llama = false) const;

  /// Of a GGUF file alone.
  posenc::gguf_metadata const& gguf() const { return *gguf_; }
  /// The list of strings of a key of a GGUF file, as long as it is; nothing where it is absent.
  std::optional<std::vector<std::string>> strings(std::string_view key) const;
  /// The same for numbers.
  std::optional<std::vector<double>> numbers(std::string_view key) const;

  /// The folder of the files.
  std::string const& folder() const { return folder_; }
  /// The text of a file of a folder of Hugging Face: config.json, tokenizer.json ...; nothing where
  /// it is absent.
  std::optional<std::string> text(std::string const& file) const;

 private:
  void open_gguf();
  void open_safetensors();
  void sort();
  weight const* named(std::string_view name) const;  // of any type

  std::string name_, folder_;
  std::unique_ptr<posenc::gguf_metadata const> gguf_;
  std::vector<mapped_file> files_;
  std::vector<weight> all_;
};

}  // namespace program
