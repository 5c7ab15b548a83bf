// The header of a GGUF file.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/detail/settings.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {
class gguf_bytes;
}  // namespace detail

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
  std::uint32_t type = 0;       ///< of each value, as GGUF numbers them: 8 is a string
  std::uint64_t begin = 0;      ///< of the first value, in bytes from the beginning of the file
};

/// A value as read: a number is widened to 64 bits.
using gguf_value =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string, gguf_long_text, gguf_list>;

/// The description of a tensor.
struct gguf_tensor {
  std::vector<std::uint64_t> dims;  ///< the contiguous one first
  std::uint32_t type;               ///< as ggml numbers them: 0 is F32
  std::uint64_t offset;             ///< in bytes, from gguf_part::data_begin of its part
  std::size_t part = 0;             ///< the file that has it, of gguf_metadata::parts()
};

/// One of the files of a model.
struct gguf_part {
  std::string file;              ///< its name, as given
  std::uint64_t data_begin = 0;  ///< of its tensors' data, in bytes from the beginning of the file
};

/// A little-endian GGUF file of version 2 or 3. [ggml, docs/gguf.md]
///
///     gguf_metadata const file(stream, "model.gguf");
///     file.number("llama.rope.freq_base");     // 500000.0, or nothing where the key is absent
///     file.values("rope_freqs.weight");        // the numbers of one of rope_tensors
///
/// Reads the header and the tensors in rope_tensors only. No length is trusted before its bytes
/// were read: memory is proportional to the file, and a header beyond 1 GiB is refused.
///
/// A model in several files has its keys in the first, and tensors in all: add_part adds those of
/// the next (gguf/parts.hpp does so by the files' names). A tensor is at
/// parts()[tensor.part].data_begin + tensor.offset of the file parts()[tensor.part].file.
///
/// Throws std::invalid_argument for other first letters or another version, a big-endian file, a
/// file that ends early, a key or tensor that appears twice, an unknown type of value, a list of
/// lists, and a bool that is neither 0 nor 1. The error names file, key and value.
class gguf_metadata : public detail::settings<gguf_metadata> {
 public:
  /// The factors that divide frequencies in Llama 3, p-RoPE and LongRoPE.
  static constexpr std::array<std::string_view, 3> rope_tensors{
      "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"};

  /// `file` is the name of the file, for errors.
  gguf_metadata(std::istream& in, std::string file);
  /// A file in memory, which need not outlive this.
  gguf_metadata(std::span<std::byte const> memory, std::string file);

  std::string const& file() const noexcept { return parts_.front().file; }  ///< of the keys
  /// The files whose tensors are here, in order.
  std::vector<gguf_part> const& parts() const& noexcept { return parts_; }
  /// The list of a temporary, moved out.
  std::vector<gguf_part> parts() && { return std::move(parts_); }
  /// In how many files the model is, by the keys of this one: 1 unless it was split.
  std::size_t files_of_model() const {
    return std::max<std::size_t>(count("split.count", 0, most_files).value_or(1), 1);
  }

  /// Adds the tensors of the next file of the model. Throws std::invalid_argument, and adds
  /// nothing, unless its split.no and split.count say that it is the next file, all of its tensors
  /// are new, and its general.architecture, if it has one, is the model's.
  void add_part(gguf_metadata next);

  /// All, by name.
  std::map<std::string, gguf_value, std::less<>> const& keys() const& noexcept { return keys_; }
  /// The list of a temporary, moved out.
  std::map<std::string, gguf_value, std::less<>> keys() && { return std::move(keys_); }
  /// All descriptions, by name.
  std::map<std::string, gguf_tensor, std::less<>> const& tensors() const& noexcept {
    return tensors_;
  }
  /// The list of a temporary, moved out.
  std::map<std::string, gguf_tensor, std::less<>> tensors() && { return std::move(tensors_); }
  /// Looks among all tensors, not only rope_tensors.
  bool has_tensor(std::string_view name) const { return tensors_.contains(name); }
  /// Whether the name of any tensor begins so.
  bool has_tensors(std::string_view start) const {
    auto const first = tensors_.lower_bound(start);
    return first != tensors_.end() && first->first.starts_with(start);
  }

  /// The numbers of one of rope_tensors, if a file has it.
  std::optional<std::vector<double>> values(std::string_view tensor) const {
    auto const found = values_.find(tensor);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Throws std::invalid_argument: what the value must be, and what it is.
  [[noreturn]] void refuse(std::string_view key, std::string_view must) const;

  /// Null where the key is absent.
  gguf_value const* value_of(std::string_view key) const {
    auto const found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second;
  }
  /// A list of finite numbers; nothing where the key is absent.
  std::optional<std::vector<double>> numbers(std::string_view key) const {
    auto const* const value = value_of(key);
    if (value == nullptr) return {};
    auto const* const list = std::get_if<gguf_list>(value);
    bool const is_kept = list != nullptr && list->numbers.size() == list->size;
    if (!is_kept || !std::ranges::all_of(list->numbers, is_finite)) {
      refuse(key, "be a list of at most " + std::to_string(gguf_most_numbers) + " finite numbers");
    }
    return list->numbers;
  }
  /// True of strings as well as of numbers; false where the key is absent.
  bool is_list(std::string_view key) const {
    auto const* const value = value_of(key);
    return value != nullptr && std::holds_alternative<gguf_list>(*value);
  }

  /// A value as a number, which a bool is not; nothing for other types, as below.
  static std::optional<double> number_in(gguf_value const& value) {
    auto const read = []<class T>(T const& x) -> std::optional<double> {
      if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
        return static_cast<double>(x);
      return {};
    };
    return std::visit(read, value);
  }
  /// A whole number from 0.
  static std::optional<std::uint64_t> whole_in(gguf_value const& value) {
    auto const n = in<std::int64_t>(value);
    return n && *n >= 0 ? static_cast<std::uint64_t>(*n) : in<std::uint64_t>(value);
  }
  /// A bool.
  static std::optional<bool> flag_in(gguf_value const& value) { return in<bool>(value); }
  /// A string.
  static std::optional<std::string> text_in(gguf_value const& value) {
    return in<std::string>(value);
  }

 private:
  template <class T>
  static std::optional<T> in(gguf_value const& value) {
    auto const* const found = std::get_if<T>(&value);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  static constexpr std::uint64_t most_files = 65'535;  // split.count is of 16 bits

  explicit gguf_metadata(detail::gguf_bytes bytes);
  void read_tensors(detail::gguf_bytes& bytes, std::uint64_t count);
  void read_values(detail::gguf_bytes& bytes);

  std::vector<gguf_part> parts_;
  std::map<std::string, gguf_value, std::less<>> keys_;
  std::map<std::string, gguf_tensor, std::less<>> tensors_;
  std::map<std::string, std::vector<double>, std::less<>> values_;
};

namespace detail {

/// The bytes of a file. No length in it is trusted.
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
  gguf_list result{bytes.number<std::uint64_t>(), {}, static_cast<std::uint32_t>(type), 0};
  result.begin = bytes.at();
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
    return "a string of " + shown(text->size) + " bytes";
  if (auto const* const list = std::get_if<gguf_list>(&value))
    return "a list of " + shown(list->size);
  if (auto const* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (auto const* const n = std::get_if<std::uint64_t>(&value)) return shown(*n);
  if (auto const* const n = std::get_if<std::int64_t>(&value)) return shown(*n);
  return shown(std::get<double>(value));
}

/// As JSON writes it.
inline std::string shown_list(std::vector<double> const& values) {
  std::string result;
  for (auto const x : values) result += (result.empty() ? "" : ",") + shown(x);
  return "[" + result + "]";
}

/// Reads a name, which is the subject of errors from here on.
inline std::string gguf_name(gguf_bytes& bytes, std::string_view what, std::uint64_t i,
                             std::uint64_t count) {
  bytes.subject(std::string(what) + " " + std::to_string(i + 1) + " of " + std::to_string(count));
  constexpr std::uint64_t most_name = 65'535;
  auto [text, size] = bytes.text(most_name);
  bytes.require(0 < size && size <= most_name, "have a name of 1 to ", most_name, " bytes, got ",
                size);
  bytes.subject(printable(text));
  return std::move(text);
}

}  // namespace detail

inline void gguf_metadata::add_part(gguf_metadata next) {
  auto const no = parts_.size(), all = files_of_model();
  next.require(next.count("split.no", 0, most_files) == no, "split.no",
               "be " + detail::shown(no) + ", for the part that follows " + parts_.back().file);
  next.require(no < all && next.files_of_model() == all, "split.count",
               "be " + detail::shown(all) + ", as in " + file() + ", and above split.no");
  constexpr std::string_view architecture = "general.architecture";
  auto const ours = text(architecture), theirs = next.text(architecture);
  if (ours && theirs)
    next.require(*ours == *theirs, architecture,
                 "be " + detail::printable(*ours) + ", as in " + file());
  for (auto const& [name, tensor] : next.tensors_)
    if (auto const found = tensors_.find(name); found != tensors_.end())
      detail::refuse(next.file(), ": ", detail::printable(name),
                     " must be in one file of the model, got it in ",
                     parts_[found->second.part].file, " too");
  for (auto& [name, tensor] : next.tensors_) tensor.part = no;
  parts_.push_back(std::move(next.parts_.front()));
  tensors_.merge(next.tensors_), values_.merge(next.values_);
}

[[noreturn]] inline void gguf_metadata::refuse(std::string_view key, std::string_view must) const {
  auto const* const value = value_of(key);
  auto const x = value == nullptr ? std::nullopt : in<double>(*value);
  bool const is_whole_float = x && *x == std::floor(*x) && must.starts_with("be a whole number");
  auto const type = is_whole_float ? "the float " : "";
  detail::refuse(
      file(), ": ", detail::printable(key), " must ", must,
      value == nullptr ? ", and is absent" : ", got " + (type + detail::shown_gguf(*value)));
}

inline gguf_metadata::gguf_metadata(std::istream& in, std::string file)
    : gguf_metadata(detail::gguf_bytes(in, std::move(file))) {}
inline gguf_metadata::gguf_metadata(std::span<std::byte const> memory, std::string file)
    : gguf_metadata(detail::gguf_bytes(memory, std::move(file))) {}

inline gguf_metadata::gguf_metadata(detail::gguf_bytes bytes) : parts_{{.file = bytes.file()}} {
  bytes.subject("the file");
  std::array<unsigned char, 4> magic{};
  bytes.take(std::as_writable_bytes(std::span(magic)));
  std::string const letters(magic.begin(), magic.end());
  char hex[12];
  std::snprintf(hex, sizeof hex, "%02x %02x %02x %02x", magic[0], magic[1], magic[2], magic[3]);
  bytes.require(letters == "GGUF", "begin with the letters GGUF, got \"",
                detail::printable(letters), "\", bytes ", std::string_view(hex));
  bytes.subject("version");
  auto const version = bytes.number<std::uint32_t>();
  bytes.require(version == 0 || version % 0x10000 != 0, "be little-endian, got a big-endian file");
  bytes.require(version == 2 || version == 3, "be 2 or 3, got ", version);
  bytes.subject("tensor_count");
  auto const tensors = bytes.number<std::uint64_t>();
  bytes.subject("metadata_kv_count");
  auto const keys = bytes.number<std::uint64_t>();
  for (std::uint64_t i = 0; i < keys; ++i) {
    auto key = detail::gguf_name(bytes, "key", i, keys);
    bytes.require(!keys_.contains(key), "appear once in the file, got it twice");
    auto value = detail::read_gguf_value(bytes);
    keys_.emplace(std::move(key), std::move(value));
  }
  read_tensors(bytes, tensors);
  read_values(bytes);
}

inline void gguf_metadata::read_tensors(detail::gguf_bytes& bytes, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto tensor_name = detail::gguf_name(bytes, "tensor", i, count);
    bytes.require(!tensors_.contains(tensor_name), "appear once among the tensors, got it twice");
    auto const dims = bytes.number<std::uint32_t>();
    bytes.require(dims <= 4, "have at most 4 dimensions, got ", dims);
    gguf_tensor tensor{};
    for (std::uint32_t d = 0; d < dims; ++d) tensor.dims.push_back(bytes.number<std::uint64_t>());
    tensor.type = bytes.number<std::uint32_t>();
    tensor.offset = bytes.number<std::uint64_t>();
    tensors_.emplace(std::move(tensor_name), std::move(tensor));
  }
}

inline void gguf_metadata::read_values(detail::gguf_bytes& bytes) {
  constexpr std::string_view key = "general.alignment";
  auto const alignment = count(key, 1, std::uint64_t{1} << 30).value_or(32);
  require(std::has_single_bit(alignment), key, "be a power of 2");
  auto& data_begin = parts_.front().data_begin;
  data_begin = (bytes.at() + alignment - 1) / alignment * alignment;
  std::multimap<std::uint64_t, std::string> by_offset;  // a pipe only goes forward
  for (auto const name : rope_tensors) {
    if (has_tensor(name)) by_offset.emplace(tensors_.find(name)->second.offset, name);
  }
  for (auto const& [at, name] : by_offset) {
    auto const& [dims, type, offset, part] = tensors_.at(name);
    bytes.subject(name);
    bool const is_list = dims.size() == 1 && dims[0] >= 1 && dims[0] <= gguf_most_numbers;
    bytes.require(is_list && type == 0, "have 1 dimension, of 1 to ", gguf_most_numbers,
                  " numbers, and type 0 (F32), got ", dims.size(), " dimensions, the first of ",
                  dims.empty() ? 0 : dims[0], " numbers, and type ", type);
    bytes.require(at % alignment == 0 && at < std::uint64_t{1} << 62,
                  "have an offset below 2^62 that is a multiple of ", alignment, ", got ", at);
    bytes.move_to(data_begin + at);
    auto& numbers = values_[name];
    for (std::uint64_t i = 0; i < dims[0]; ++i) numbers.push_back(bytes.number<float>());
  }
}

}}  // namespace posenc
