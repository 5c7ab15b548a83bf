// What the program reads: models' settings, and lists of numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "posenc/model/model_description.hpp"

namespace program {

struct model_file {
  posenc::model_description model;
  bool is_gguf;  ///< by its first letter or its name
};

/// The names of the models whose settings the program has in it, in order: those of
/// examples/models.
std::vector<std::string> shipped_models();

/// A config.json or a GGUF file, which is read once, so that it may be a pipe; or where there is no
/// such file, the settings of the shipped model of this name. Throws std::runtime_error that names
/// a directory, or a file that cannot be read; std::invalid_argument as the readers do. as_llama:
/// whether --as-llama is given, of a program that has it, which errors then name.
model_file read_model_file(std::string const& file, std::optional<bool> as_llama = {});
/// What it says.
posenc::model_description read_model(std::string const& file, std::optional<bool> as_llama = {});

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

}  // namespace program
