#include "program/tensors/tensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "posenc/heads/storage.hpp"
#include "posenc/model/gguf/parts.hpp"

namespace {

std::uint32_t word(unsigned char const* at) {
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8;
}
float half_at(unsigned char const* at) {
  return float(posenc::half::from_bits(static_cast<std::uint16_t>(word(at))));
}

void decode_f32(unsigned char const* from, float* to) {
  *to = std::bit_cast<float>(word(from) | word(from + 2) << 16);
}
void decode_f16(unsigned char const* from, float* to) { *to = half_at(from); }
void decode_bf16(unsigned char const* from, float* to) {
  *to = float(posenc::bfloat16::from_bits(static_cast<std::uint16_t>(word(from))));
}

void decode_q8_0(unsigned char const* from, float* to) {
  auto const d = half_at(from);
  for (std::size_t i = 0; i < 32; ++i)
    to[i] = d * static_cast<float>(std::bit_cast<signed char>(from[2 + i]));
}

void decode_q4_k(unsigned char const* from, float* to) {
  auto const d = half_at(from), m = half_at(from + 2);
  auto const* const scales = from + 4;
  for (std::size_t part = 0; part < 8; ++part) {
    unsigned scale = 0, least = 0;
    if (part < 4) {
      scale = scales[part] & 63u, least = scales[part + 4] & 63u;
    } else {
      scale = (scales[part + 4] & 15u) | static_cast<unsigned>(scales[part - 4] >> 6) << 4;
      least = static_cast<unsigned>(scales[part + 4] >> 4) |
              static_cast<unsigned>(scales[part] >> 6) << 4;
    }
    auto const step = d * static_cast<float>(scale), offset = m * static_cast<float>(least);
    auto const* const q = from + 16 + 32 * (part / 2);
    for (std::size_t i = 0; i < 32; ++i) {
      auto const code = part % 2 == 0 ? q[i] & 15 : q[i] >> 4;
      to[32 * part + i] = step * static_cast<float>(code) - offset;
    }
  }
}

constexpr std::array formats{
    block_format{0, "F32", 1, 4, decode_f32}, block_format{1, "F16", 1, 2, decode_f16},
    block_format{30, "BF16", 1, 2, decode_bf16}, block_format{8, "Q8_0", 32, 34, decode_q8_0},
    block_format{12, "Q4_K", 256, 144, decode_q4_k}};

}  // namespace

block_format const* format_of(std::uint32_t type) {
  auto const found = std::ranges::find(formats, type, &block_format::type);
  return found == formats.end() ? nullptr : &*found;
}

tensor_file::tensor_file(std::string file) : file_(std::move(file)) {
  std::filesystem::path const path(file_);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw std::runtime_error(file_ + ": is a directory");
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    throw std::runtime_error(file_ + ": must be a file on a disk: tensors are read in any order");
  auto const opened = [](std::string const& name) {
    errno = 0;
    std::ifstream in(name, std::ios::binary | std::ios::ate);
    if (!in)
      throw std::runtime_error(
          name + ": cannot be read: " + (errno != 0 ? std::strerror(errno) : "unknown error"));
    auto const size = static_cast<std::uint64_t>(in.tellg());
    return part{std::move(in), size};
  };
  parts_.push_back(opened(file_));
  parts_[0].in.seekg(0);
  header_ =
      std::make_unique<posenc::gguf_metadata const>(posenc::read_gguf_metadata(parts_[0].in, path));
  for (auto const& next : header_->parts())
    if (&next != &header_->parts().front())
      parts_.push_back(opened((path.parent_path() / next.file).string()));
}

void tensor_file::refuse(std::string const& name, std::string const& why) const {
  throw std::runtime_error(file_ + ":" + name + ": " + why);
}

posenc::gguf_tensor const& tensor_file::tensor(std::string const& name) const {
  auto const found = header_->tensors().find(name);
  if (found == header_->tensors().end())
    throw std::runtime_error(file_ + ": has no tensor " + name);
  return found->second;
}

void tensor_file::rows(
    std::string const& name, std::uint64_t first, std::uint64_t count,
    std::function<void(std::uint64_t row, std::span<float const> numbers)> const& use) {
  auto const& [dims, type, offset, no] = tensor(name);
  auto& [in, size] = parts_[no];
  auto const* const format = format_of(type);
  if (format == nullptr)
    refuse(name, "must be F32, F16, BF16, Q8_0 or Q4_K, ggml's types 0, 1, 30, 8 and 12, got " +
                     std::to_string(type));
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  std::uint64_t all = 1;
  for (auto const dim : dims) {
    if (dim == 0 || dim > most / all) refuse(name, "must have 1 to 2^40 numbers");
    all *= dim;
  }
  auto const columns = dims.empty() ? 1 : dims.front();
  if (columns % format->numbers != 0)
    refuse(name, "must have rows of whole blocks, a multiple of " +
                     std::to_string(format->numbers) + " numbers of " + std::string(format->name) +
                     ", got " + std::to_string(columns));
  if (offset >> 62 != 0) refuse(name, "must have an offset below 2^62");  // else it wraps
  auto const row_bytes = columns / format->numbers * format->bytes;
  auto const begin = header_->parts()[no].data_begin + offset, bytes = all / columns * row_bytes;
  if (begin > size || bytes > size - begin)
    refuse(name, "must end within the file, of " + std::to_string(size) + " bytes, got byte " +
                     std::to_string(begin + bytes));
  if (first > all / columns || count > all / columns - first)
    refuse(name, "must have rows " + std::to_string(first) + " to " +
                     std::to_string(first + count - 1) + ", has " + std::to_string(all / columns));

  in.clear();
  in.seekg(static_cast<std::streamoff>(begin + first * row_bytes));
  std::vector<unsigned char> raw(static_cast<std::size_t>(row_bytes));
  std::vector<float> numbers(static_cast<std::size_t>(columns));
  for (auto row = first; row < first + count; ++row) {
    in.read(reinterpret_cast<char*>(raw.data()), static_cast<std::streamsize>(raw.size()));
    if (!in) refuse(name, "cannot be read");
    for (std::size_t i = 0; i < numbers.size() / format->numbers; ++i)
      format->decode(&raw[i * format->bytes], &numbers[i * format->numbers]);
    if (!std::ranges::all_of(numbers, [](float x) { return posenc::is_finite(x); }))
      refuse(name, "must have finite numbers, got another in row " + std::to_string(row));
    use(row, numbers);
  }
}
