// Keys and tensors of a GGUF file about positions, and the bytes of a file that holds them.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/values.hpp"

namespace posenc::inline POSENC_TARGET {

/// A value of a key, of the type that llama.cpp reads it as.
using gguf_written_value = std::variant<std::uint32_t, float, bool, std::string,
                                        std::vector<std::int32_t>, std::vector<bool>>;

namespace detail {

/// Little-endian bytes, appended one value after another.
class gguf_output {
 public:
  void number(std::integral auto value) {
    auto const bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes_.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xff));
  }
  void number(float value) { number(std::bit_cast<std::uint32_t>(value)); }
  void text(std::string_view text) {
    number(std::uint64_t{text.size()});
    for (auto const c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  void type(gguf_type type) { number(static_cast<std::uint32_t>(type)); }
  void pad(std::size_t alignment) { bytes_.resize(padded(bytes_.size(), alignment)); }

  void value(gguf_written_value const& value) {
    std::visit([&](auto const& x) { typed(x); }, value);
  }
  static std::size_t padded(std::size_t size, std::size_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void typed(std::uint32_t x) { type(gguf_type::u32), number(x); }
  void typed(float x) { type(gguf_type::f32), number(x); }
  void typed(bool x) { type(gguf_type::boolean), number(std::uint8_t{x}); }
  void typed(std::string const& x) { type(gguf_type::string), text(x); }
  template <class T>
  void typed(std::vector<T> const& list) {
    constexpr bool is_bool = std::is_same_v<T, bool>;
    type(gguf_type::list), type(is_bool ? gguf_type::boolean : gguf_type::i32);
    number(std::uint64_t{list.size()});
    for (T const x : list) number(static_cast<std::conditional_t<is_bool, std::uint8_t, T>>(x));
  }

  std::vector<std::byte> bytes_;
};

}  // namespace detail

/// What a GGUF file holds about positions. Plain data.
struct gguf_header {
  std::map<std::string, gguf_written_value, std::less<>> keys = {};  ///< by name
  /// rope_freqs.weight, or rope_factors_long.weight and rope_factors_short.weight: F32, a factor
  /// for each pair.
  std::map<std::string, std::vector<float>, std::less<>> tensors = {};
  /// What was assumed, and what the rest of the file must have, one sentence each.
  std::vector<std::string> notes = {};

  /// A GGUF file of version 3, little-endian, with these keys and tensors alone. [ggml,
  /// docs/gguf.md]
  std::vector<std::byte> bytes() const {
    constexpr std::size_t alignment = 32;
    detail::gguf_output file;
    file.number(std::uint32_t{0x46554747});
    file.number(std::uint32_t{3});
    file.number(std::uint64_t{tensors.size()});
    file.number(std::uint64_t{keys.size()});
    for (auto const& [key, value] : keys) file.text(key), file.value(value);
    std::size_t offset = 0;
    for (auto const& [name, values] : tensors) {
      file.text(name);
      file.number(std::uint32_t{1});
      file.number(std::uint64_t{values.size()});
      file.number(std::uint32_t{0});
      file.number(std::uint64_t{offset});
      offset += detail::gguf_output::padded(values.size() * sizeof(float), alignment);
    }
    for (auto const& [name, values] : tensors) {
      file.pad(alignment);
      for (auto const value : values) file.number(value);
    }
    return file.take();
  }
};

}  // namespace posenc
