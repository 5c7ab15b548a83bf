// Small models for checks: their weights are a formula of a tensor's name and of an index, so that
// they are stored nowhere, and another program can make the same ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace small_model {

struct tensor {
  std::string name;
  std::vector<std::size_t> shape;
  float scale = 1, plus = 0;

  std::size_t size() const {
    std::size_t count = 1;
    for (auto const dim : shape) count *= dim;
    return count;
  }
};

/// FNV-1a, of 64 bits.
inline std::uint64_t hash(std::string_view name) {
  std::uint64_t x = 0xcbf29ce484222325u;
  for (auto const c : name) x = (x ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return x;
}

/// A number in [-1, 1) that looks random: 24 bits of a product.
inline float number_of(std::uint64_t name, std::uint64_t index) {
  auto x = (name * 0x9E3779B97F4A7C15u) ^ (index * 0xD1B54A32D192ED03u);
  x ^= x >> 29, x *= 0xBF58476D1CE4E5B9u, x ^= x >> 32;
  return static_cast<float>(static_cast<double>(x >> 40) / 8'388'608.0 - 1);
}

inline std::vector<float> numbers_of(tensor const& t) {
  std::vector<float> numbers(t.size());
  auto const name = hash(t.name);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = t.plus + t.scale * number_of(name, i);
  return numbers;
}

inline void write_text(std::filesystem::path const& file, std::string const& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// Numbers in the order of a file.
struct stored_tensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> numbers;
};

inline std::vector<stored_tensor> stored(std::vector<tensor> const& tensors) {
  std::vector<stored_tensor> all;
  for (auto const& t : tensors) all.push_back({t.name, t.shape, numbers_of(t)});
  return all;
}

/// A folder with config.json and model.safetensors, in F32.
inline void write(std::filesystem::path const& folder, std::string const& config,
                  std::vector<stored_tensor> const& tensors) {
  std::filesystem::create_directories(folder);
  write_text(folder / "config.json", config);
  std::string header = "{", data;
  for (auto const& t : tensors) {
    auto const begin = data.size(), size = t.numbers.size() * sizeof(float);
    data.resize(begin + size);
    std::memcpy(&data[begin], t.numbers.data(), size);
    header += (header.size() == 1 ? "\"" : ",\"") + t.name + R"(":{"dtype":"F32","shape":[)";
    for (std::size_t i = 0; i < t.shape.size(); ++i)
      header += (i == 0 ? "" : ",") + std::to_string(t.shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(begin + size) +
              "]}";
  }
  header += "}";
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 255);
  write_text(folder / "model.safetensors", text + header + data);
}

}  // namespace small_model
