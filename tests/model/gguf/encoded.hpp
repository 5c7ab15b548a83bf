#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/gguf/writer.hpp"

/// Numbers in runs, [[number, times], ...], one by one.
inline std::vector<double> numbers_of_runs(nlohmann::json const& runs) {
  std::vector<double> numbers;
  for (auto const& run : runs)
    numbers.insert(numbers.end(), run.at(1).get<std::size_t>(), run.at(0).get<double>());
  return numbers;
}

/// A GGUF file of keys as JSON has them, and of a vocabulary. A key that begins with a point
/// follows the architecture. Whole numbers are u32, or i32 below 0, or u64 if they are large, and
/// i32 in lists; other numbers are f32. `tensors` has the numbers of each in runs, or its dims
/// alone.
inline gguf_writer encoded_gguf(nlohmann::json const& keys) {
  gguf_writer file;
  for (auto const& [key, value] : keys.items()) {
    if (key == "tensors") continue;
    auto const name =
        key.starts_with('.') ? keys.at("general.architecture").get<std::string>() + key : key;
    if (value.is_string()) {
      file.set(name, value.get<std::string>());
    } else if (value.is_boolean()) {
      file.set(name, value.get<bool>());
    } else if (value.is_number_float()) {
      file.set(name, value.get<float>());
    } else if (value.is_array()) {
      file.list(name, value.get<std::vector<std::int32_t>>());
    } else if (value.is_number_unsigned() && value <= UINT32_MAX) {
      file.set(name, value.get<std::uint32_t>());
    } else if (value.is_number_unsigned()) {
      file.set(name, value.get<std::uint64_t>());
    } else {
      file.set(name, value.get<std::int32_t>());
    }
  }
  file.strings("tokenizer.ggml.tokens", {"<s>", "</s>", "a"})
      .list("tokenizer.ggml.scores", std::vector<float>{0, 0, -1});
  if (!keys.contains("tensors")) return file;
  for (auto const& [name, tensor] : keys["tensors"].items()) {
    if (tensor.is_object()) {
      file.tensor(name, tensor.at("dims").get<std::vector<std::uint64_t>>(), 0, std::uint64_t{0});
    } else {
      auto const numbers = numbers_of_runs(tensor);
      file.tensor(name, std::vector<float>(numbers.begin(), numbers.end()));
    }
  }
  return file;
}
