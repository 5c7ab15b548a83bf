// The values of a GGUF file's keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/gguf/bytes.hpp"

namespace posenc::inline POSENC_TARGET {

/// Bytes of the longest string that is kept. No key about positions holds a longer one.
inline constexpr std::uint64_t gguf_most_text = std::uint64_t{1} << 20;
/// Numbers in the longest list that is kept.
inline constexpr std::uint64_t gguf_most_numbers = 65'536;

/// A string of more than gguf_most_text bytes, which is skipped.
struct gguf_long_text {
  std::uint64_t size;  ///< in bytes
};

/// A list. If it holds strings, or more than gguf_most_numbers numbers, it is skipped and `numbers`
/// is empty.
struct gguf_list {
  std::uint64_t size;           ///< how many values the file has
  std::vector<double> numbers;  ///< true is 1; integers beyond 2^53 are rounded
};

/// A value as read: a number is widened to 64 bits.
using gguf_value =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string, gguf_long_text, gguf_list>;

namespace detail {

/// The types of values, as they are numbered in a file. [ggml, docs/gguf.md]
// clang-format off
enum class gguf_type : std::uint32_t {
  u8, i8, u16, i16, u32, i32, f32, boolean, string, list, u64, i64, f64
};
// clang-format on

/// A string in an error: unprintable bytes as ?, at most 64 bytes.
inline std::string printable(std::string_view text) {
  std::string result(text.substr(0, 64));
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > result.size() ? result + "..." : result;
}

inline std::string shown_gguf(gguf_value const& value) {
  if (auto const* const text = std::get_if<std::string>(&value))
    return "the string \"" + printable(*text) + "\"";
  if (auto const* const text = std::get_if<gguf_long_text>(&value))
    return "a string of " + std::to_string(text->size) + " bytes";
  if (auto const* const list = std::get_if<gguf_list>(&value))
    return "a list of " + std::to_string(list->size);
  if (auto const* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (auto const* const n = std::get_if<std::uint64_t>(&value)) return shown(*n);
  if (auto const* const n = std::get_if<std::int64_t>(&value)) return shown(*n);
  return shown(std::get<double>(value));
}

/// Bytes of a scalar; 0 for strings and lists.
inline std::uint64_t size_of(gguf_bytes const& bytes, gguf_type type) {
  constexpr std::array<std::uint8_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  auto const index = static_cast<std::uint32_t>(type);
  bytes.require(index < sizes.size(), "have one of GGUF's value types, 0 to 12, got type ", index);
  return sizes[index];
}

/// The scalar in size_of(type) bytes.
inline gguf_value gguf_scalar(gguf_bytes const& bytes, gguf_type type, std::byte const* raw) {
  switch (type) {
    case gguf_type::u8:
      return std::uint64_t{gguf_bytes::decoded<std::uint8_t>(raw)};
    case gguf_type::u16:
      return std::uint64_t{gguf_bytes::decoded<std::uint16_t>(raw)};
    case gguf_type::u32:
      return std::uint64_t{gguf_bytes::decoded<std::uint32_t>(raw)};
    case gguf_type::i8:
      return std::int64_t{gguf_bytes::decoded<std::int8_t>(raw)};
    case gguf_type::i16:
      return std::int64_t{gguf_bytes::decoded<std::int16_t>(raw)};
    case gguf_type::i32:
      return std::int64_t{gguf_bytes::decoded<std::int32_t>(raw)};
    case gguf_type::i64:
      return gguf_bytes::decoded<std::int64_t>(raw);
    case gguf_type::f32:
      return double{gguf_bytes::decoded<float>(raw)};
    case gguf_type::f64:
      return gguf_bytes::decoded<double>(raw);
    case gguf_type::boolean:
      bytes.require(std::to_integer<int>(*raw) <= 1, "be 0 or 1, for it is a bool, got ",
                    std::to_integer<int>(*raw));
      return *raw != std::byte{0};
    default:
      return gguf_bytes::decoded<std::uint64_t>(raw);
  }
}

inline double number_of(gguf_value const& scalar) {
  auto const convert = [](auto const& x) -> double {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(x)>>) return static_cast<double>(x);
    return 0;
  };
  return std::visit(convert, scalar);
}

inline gguf_list read_gguf_list(gguf_bytes& bytes) {
  auto const type = static_cast<gguf_type>(bytes.number<std::uint32_t>());
  auto const width = size_of(bytes, type);
  bytes.require(type != gguf_type::list, "not be a list of lists");
  gguf_list result{bytes.number<std::uint64_t>(), {}};
  if (type == gguf_type::string) {
    for (std::uint64_t i = 0; i < result.size; ++i) bytes.skip(bytes.number<std::uint64_t>());
    return result;
  }
  bytes.require(result.size <= gguf_bytes::most_header / width, "lie within the first ",
                gguf_bytes::most_header, " bytes of the file, got a list of ", result.size);
  bool const is_kept = result.size <= gguf_most_numbers;
  bytes.pieces(width * result.size, [&](std::span<std::byte const> piece) {
    if (!is_kept) return;
    // Each piece holds whole numbers, for 8 divides its length.
    for (std::size_t i = 0; i < piece.size(); i += width) {
      result.numbers.push_back(number_of(gguf_scalar(bytes, type, &piece[i])));
    }
  });
  return result;
}

/// Reads a value, which begins with its type.
inline gguf_value read_gguf_value(gguf_bytes& bytes) {
  auto const type = static_cast<gguf_type>(bytes.number<std::uint32_t>());
  std::array<std::byte, 8> raw{};
  auto const width = size_of(bytes, type);
  if (type == gguf_type::list) return read_gguf_list(bytes);
  if (type == gguf_type::string) {
    auto [text, size] = bytes.text(gguf_most_text);
    if (size > gguf_most_text) return gguf_long_text{size};
    return std::move(text);
  }
  bytes.take(std::span(raw).first(width));
  return gguf_scalar(bytes, type, raw.data());
}

}  // namespace detail
}  // namespace posenc
