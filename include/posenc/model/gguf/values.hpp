// The bytes of a GGUF file, and the values of its keys. No length in the file is trusted.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Bytes of the longest string that is kept. No key about positions holds a longer one.
inline constexpr std::uint64_t gguf_most_text = std::uint64_t{1} << 20;
/// Numbers in the longest list that is kept.
inline constexpr std::uint64_t gguf_most_numbers = 65'536;

/// A string of more than gguf_most_text bytes, which is skipped.
struct gguf_long_text {
  std::uint64_t size;  ///< in bytes
};

/// A list. If it holds strings or more than gguf_most_numbers numbers, `numbers` is empty.
struct gguf_list {
  std::uint64_t size;           ///< how many values the file has
  std::vector<double> numbers;  ///< true is 1; integers beyond 2^53 are rounded
};

/// A value as read: a number is widened to 64 bits.
using gguf_value =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string, gguf_long_text, gguf_list>;

namespace detail {

class gguf_bytes {
 public:
  gguf_bytes(std::istream& in, std::string file)
      : in_(&in), origin_(in.tellg()), file_(std::move(file)) {}
  gguf_bytes(std::span<std::byte const> memory, std::string file)
      : memory_(memory), file_(std::move(file)) {}

  /// The longest header, in bytes. Large models have about 10 MB, mostly their vocabulary.
  static constexpr std::uint64_t most_header = std::uint64_t{1} << 30;

  std::string const& file() const noexcept { return file_; }
  std::uint64_t at() const noexcept { return at_; }

  /// Sets the subject of errors: what is read from here on.
  void subject(std::string what) { subject_ = std::move(what); }

  void require(bool holds, auto const&... parts) const {
    if (!holds) detail::refuse(file_, ": ", subject_, " must ", parts...);
  }

  /// The bits of a little-endian number of at most 8 bytes.
  std::uint64_t bits(std::size_t size) {
    std::array<std::byte, 8> raw{};
    take(std::span(raw).first(size));
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < size; ++i)
      result |= std::to_integer<std::uint64_t>(raw[i]) << 8 * i;
    return result;
  }
  template <class T>
  T number() {
    auto const raw = bits(sizeof(T));
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
    } else {
      return static_cast<T>(raw);
    }
  }

  /// Calls use(piece) for the next `size` bytes, piece by piece, so that a caller who keeps them
  /// allocates what the file holds and not what a length claims.
  void pieces(std::uint64_t size, auto const& use) {
    require(at_ <= most_header && size <= most_header - at_, "lie within the first ", most_header,
            " bytes of the file, got ", size, " bytes at byte ", at_);
    std::array<std::byte, 4096> piece;
    while (size > 0) {
      auto const part = std::span(piece).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(size, piece.size())));
      take(part);
      use(std::span<std::byte const>(part));
      size -= part.size();
    }
  }

  void skip(std::uint64_t size) {
    pieces(size, [](auto const&) {});
  }

  /// A string, which begins with its length: at most `most` bytes of it, and the length.
  std::pair<std::string, std::uint64_t> text(std::uint64_t most) {
    auto const size = number<std::uint64_t>();
    std::string result;
    pieces(size, [&](std::span<std::byte const> piece) {
      auto const kept = std::min<std::uint64_t>(piece.size(), most - result.size());
      result.append(reinterpret_cast<char const*>(piece.data()), static_cast<std::size_t>(kept));
    });
    return {std::move(result), size};
  }

  /// Moves forward to a byte, counted from the beginning of the file.
  void move_to(std::uint64_t offset) {
    if (in_ == nullptr) return void(at_ = offset);
    if (origin_ != std::istream::pos_type(-1) && in_->seekg(0, std::ios::end)) {
      auto const size = static_cast<std::uint64_t>(in_->tellg() - origin_);
      if (offset > size) end(size);
      in_->seekg(origin_ + static_cast<std::streamoff>(offset));
      at_ = offset;
    } else {
      in_->clear();
      while (at_ < offset) {
        in_->ignore(static_cast<std::streamsize>(std::min(offset - at_, most_header)));
        at_ += static_cast<std::uint64_t>(in_->gcount());
        if (!in_->good() && at_ < offset) end(at_);
      }
    }
  }

  void take(std::span<std::byte> to) {
    if (in_ != nullptr) {
      in_->read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
      auto const got = static_cast<std::uint64_t>(in_->gcount());
      if (got != to.size()) end(at_ + got);
    } else {
      if (at_ > memory_.size() || to.size() > memory_.size() - at_) end(memory_.size());
      std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(at_), to.size(), to.begin());
    }
    at_ += to.size();
  }

 private:
  void end(std::uint64_t where) const {
    require(false, "be complete, got a file that ends within it, at byte ", where);
  }

  std::istream* in_ = nullptr;
  std::istream::pos_type origin_ = {};
  std::span<std::byte const> memory_ = {};
  std::uint64_t at_ = 0;
  std::string file_, subject_ = {};
};

/// The types of values, as they are numbered in a file. [ggml, docs/gguf.md]
// clang-format off
enum class gguf_type : std::uint32_t {
  u8, i8, u16, i16, u32, i32, f32, boolean, string, list, u64, i64, f64
};
// clang-format on

/// Bytes of a scalar; 0 for strings and lists.
inline std::size_t size_of(gguf_bytes const& bytes, gguf_type type) {
  constexpr std::array<std::uint8_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  auto const index = static_cast<std::uint32_t>(type);
  bytes.require(index < sizes.size(), "have one of GGUF's value types, 0 to 12, got type ", index);
  return sizes[index];
}

/// Reads a number or a bool, of size_of(type) bytes.
inline gguf_value read_gguf_scalar(gguf_bytes& bytes, gguf_type type, std::size_t size) {
  using enum gguf_type;
  auto const bits = bytes.bits(size);
  if (type == f32) return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  if (type == f64) return std::bit_cast<double>(bits);
  if (type == boolean) {
    bytes.require(bits <= 1, "be 0 or 1, for it is a bool, got ", bits);
    return bits == 1;
  }
  if (type == u8 || type == u16 || type == u32 || type == u64) return bits;
  auto const unused = 64 - 8 * size;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

/// The value of a number or a bool; nullopt for other types.
inline std::optional<double> as_number(gguf_value const& value) {
  auto const read = []<class T>(T const& x) -> std::optional<double> {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(x);
    return {};
  };
  return std::visit(read, value);
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
  if (result.size > gguf_most_numbers) return bytes.skip(width * result.size), result;
  for (std::uint64_t i = 0; i < result.size; ++i) {
    result.numbers.push_back(*as_number(read_gguf_scalar(bytes, type, width)));
  }
  return result;
}

/// Reads a value, which begins with its type.
inline gguf_value read_gguf_value(gguf_bytes& bytes) {
  auto const type = static_cast<gguf_type>(bytes.number<std::uint32_t>());
  auto const size = size_of(bytes, type);
  if (type == gguf_type::list) return read_gguf_list(bytes);
  if (type != gguf_type::string) return read_gguf_scalar(bytes, type, size);
  auto [text, length] = bytes.text(gguf_most_text);
  if (length > gguf_most_text) return gguf_long_text{length};
  return std::move(text);
}

}  // namespace detail
}}  // namespace posenc
