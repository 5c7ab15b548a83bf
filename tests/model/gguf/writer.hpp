#pragma once

/// GGUF files in memory, written from the description of the format [ggml, docs/gguf.md]; bytes(),
/// raw() and count() write invalid ones.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Bytes, appended one value after another, little-endian.
class gguf_text {
 public:
  gguf_text& bytes(std::string_view raw) { return raw_ += raw, *this; }
  gguf_text& number(auto value) {
    std::uint64_t bits = 0;
    if constexpr (std::is_same_v<decltype(value), float>) {
      bits = std::bit_cast<std::uint32_t>(value);
    } else if constexpr (std::is_same_v<decltype(value), double>) {
      bits = std::bit_cast<std::uint64_t>(value);
    } else {
      bits = static_cast<std::uint64_t>(value);
    }
    for (std::size_t i = 0; i < sizeof value; ++i)
      raw_ += static_cast<char>(bits >> (8 * i) & 0xff);
    return *this;
  }
  gguf_text& string(std::string_view text) {
    return number(std::uint64_t{text.size()}).bytes(text);
  }
  std::string const& str() const { return raw_; }

 private:
  std::string raw_;
};

class gguf_writer {
 public:
  template <class T>
  static constexpr std::uint32_t type_of() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return 0;
    if constexpr (std::is_same_v<T, std::int8_t>) return 1;
    if constexpr (std::is_same_v<T, std::uint16_t>) return 2;
    if constexpr (std::is_same_v<T, std::int16_t>) return 3;
    if constexpr (std::is_same_v<T, std::uint32_t>) return 4;
    if constexpr (std::is_same_v<T, std::int32_t>) return 5;
    if constexpr (std::is_same_v<T, float>) return 6;
    if constexpr (std::is_same_v<T, bool>) return 7;
    if constexpr (std::is_same_v<T, std::uint64_t>) return 10;
    if constexpr (std::is_same_v<T, std::int64_t>) return 11;
    if constexpr (std::is_same_v<T, double>) return 12;
  }
  static constexpr std::uint32_t string_type = 8, list_type = 9;

  explicit gguf_writer(std::uint32_t version = 3) : version_(version) {}

  template <class T>
  gguf_writer& set(std::string_view key, T value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      return raw(key, string_type, gguf_text().string(value).str());
    } else {
      return raw(key, type_of<T>(), gguf_text().number(value).str());
    }
  }
  template <class T>
  gguf_writer& list(std::string_view key, std::vector<T> const& values) {
    gguf_text text;
    text.number(type_of<T>()).number(std::uint64_t{values.size()});
    for (T const value : values) text.number(value);
    return raw(key, list_type, text.str());
  }
  gguf_writer& strings(std::string_view key, std::vector<std::string> const& values) {
    gguf_text text;
    text.number(string_type).number(std::uint64_t{values.size()});
    for (auto const& value : values) text.string(value);
    return raw(key, list_type, text.str());
  }
  /// A value of arbitrary bytes.
  gguf_writer& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    keys_.string(key).number(type).bytes(value);
    ++key_count_;
    return *this;
  }
  /// A tensor of 1 dimension, F32.
  gguf_writer& tensor(std::string_view name, std::vector<float> const& values) {
    gguf_text data;
    for (auto const value : values) data.number(value);
    return tensor(name, {values.size()}, 0, data.str());
  }
  /// A tensor of these bytes; the contiguous dim first.
  gguf_writer& tensor(std::string_view name, std::vector<std::uint64_t> const& dims,
                      std::uint32_t type, std::string_view data) {
    auto const offset = pad(data_);
    data_.bytes(data);
    return tensor(name, dims, type, offset);
  }
  /// A tensor without data.
  gguf_writer& tensor(std::string_view name, std::vector<std::uint64_t> const& dims,
                      std::uint32_t type, std::uint64_t offset) {
    tensors_.string(name).number(static_cast<std::uint32_t>(dims.size()));
    for (auto const d : dims) tensors_.number(d);
    tensors_.number(type).number(offset);
    ++tensor_count_;
    return *this;
  }
  gguf_writer& alignment(std::uint32_t bytes) {
    return alignment_ = bytes, set("general.alignment", bytes);
  }
  /// Claims other counts of keys and tensors than there are.
  gguf_writer& count(std::uint64_t keys, std::uint64_t tensors) {
    return key_count_ = keys, tensor_count_ = tensors, *this;
  }

  std::string str() const {
    gguf_text file;
    file.bytes("GGUF")
        .number(version_)
        .number(tensor_count_)
        .number(key_count_)
        .bytes(keys_.str())
        .bytes(tensors_.str());
    if (!data_.str().empty()) pad(file), file.bytes(data_.str());
    return file.str();
  }

 private:
  std::uint64_t pad(gguf_text& text) const {
    while (text.str().size() % alignment_ != 0) text.bytes(std::string_view("\0", 1));
    return text.str().size();
  }

  std::uint32_t version_;
  std::uint32_t alignment_ = 32;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
  gguf_text keys_, tensors_, data_;
};

inline std::span<std::byte const> bytes_of(std::string_view file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}
