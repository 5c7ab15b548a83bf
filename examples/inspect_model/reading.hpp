// What the program reads: models' settings, and lists of numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "posenc/model/model_description.hpp"

/// A config.json or a GGUF file. Throws std::runtime_error that names a directory, or a file that
/// cannot be read; std::invalid_argument as the readers do. as_llama: whether --as-llama is given,
/// of a program that has it, which errors then name.
posenc::model_description read_model(std::string const& file, std::optional<bool> as_llama = {});

/// Whether read_model takes it for a GGUF file: by its first letters or its name. Throws as it
/// does.
bool is_gguf_file(std::string const& file);

/// Frequencies, or factors that divide those of a base.
struct number_table {
  std::string name;  ///< of the tensor, or ""
  std::vector<double> numbers;
  std::optional<double> unit_roundoff;  ///< of decimals of 4 to 9 digits, if they are rounded
  std::optional<double> base;           ///< of factors
};

/// A text of numbers (with commas, brackets and # comments or without), a JSON array or an object
/// with an array inv_freq, or the tensors of factors in a GGUF file. Throws as read_model does.
std::vector<number_table> read_tables(std::string const& file);
