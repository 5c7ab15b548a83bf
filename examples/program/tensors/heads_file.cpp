#include "program/tensors/heads_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "posenc/heads/storage.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "program/tensors/weights.hpp"

namespace {

using shape = std::vector<std::uint64_t>;  // the contiguous dim last

[[noreturn]] void refuse(std::string const& file, std::string const& why) {
  throw std::runtime_error(file + ": " + why);
}

std::ifstream opened(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || in.peek() == std::ifstream::traits_type::eof())
    refuse(file, "cannot be read: " + std::string(errno != 0 ? std::strerror(errno) : "is empty"));
  return in;
}

std::size_t count_of(std::string const& file, shape const& dims) {
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  std::uint64_t count = 1;
  for (auto const dim : dims) {
    if (dim == 0 || dim > most / count)
      refuse(file, "must have 1 to " + std::to_string(most) + " numbers");
    count *= dim;
  }
  return static_cast<std::size_t>(count);
}

template <class T>
std::vector<double> numbers_in(std::ifstream& in, std::string const& file, std::size_t count) {
  std::vector<double> result;
  std::vector<T> part(std::size_t{1} << 16);  // a file that claims too much costs no memory
  while (result.size() < count) {
    part.resize(std::min(part.size(), count - result.size()));
    in.read(reinterpret_cast<char*>(part.data()),
            static_cast<std::streamsize>(part.size() * sizeof(T)));
    if (!in) refuse(file, "ends before its numbers do");
    for (auto const& x : part) result.push_back(static_cast<double>(posenc::load(x)));
  }
  return result;
}

heads_of_file shaped(std::string const& file, shape const& dims, std::size_t head_dim,
                     std::vector<double> numbers) {
  heads_of_file result{1, 1, static_cast<std::size_t>(dims.back()), false, std::move(numbers)};
  if (dims.size() == 3) result.heads = static_cast<std::size_t>(dims[1]);
  if (dims.size() >= 2) result.tokens = static_cast<std::size_t>(dims[0]);
  if (head_dim != 0 && head_dim != result.head_dim) {
    if (dims.size() == 3 || result.head_dim % head_dim != 0)
      refuse(file, "must have heads of " + std::to_string(head_dim) + " dims, got " +
                       std::to_string(result.head_dim));
    result.heads = result.head_dim / head_dim;
    result.head_dim = head_dim;
  }
  return result;
}

// What stands after a key of the header, a literal of Python: {'descr': '<f4', 'shape': (2, 3), }
std::string_view value_of(std::string const& file, std::string_view header, std::string_view key) {
  auto const at = header.find("'" + std::string(key) + "':");
  if (at == header.npos) refuse(file, "its header must have " + std::string(key));
  auto value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

shape shape_of(std::string const& file, std::string_view header) {
  auto text = value_of(file, header, "shape");
  text = text.substr(0, text.find(')'));
  shape dims;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    std::uint64_t dim = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      dim = std::min(dim * 10 + static_cast<unsigned char>(text[i] - '0'), std::uint64_t{1} << 40);
    dims.push_back(dim);
  }
  if (dims.empty() || dims.size() > 3)
    refuse(file, "must have 1 to 3 dimensions, got " + std::to_string(dims.size()));
  return dims;
}

heads_of_file read_npy(std::string const& file, std::size_t head_dim) {
  auto in = opened(file);
  unsigned char start[8] = {};
  in.read(reinterpret_cast<char*>(start), 8);
  if (!in || std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
    refuse(file, "must begin as .npy files do");
  unsigned char length[4] = {};
  in.read(reinterpret_cast<char*>(length), start[6] == 1 ? 2 : 4);
  std::size_t bytes = 0;
  for (int i = 3; i >= 0; --i) bytes = bytes << 8 | length[i];
  std::string header(std::min<std::size_t>(bytes, 65'536), ' ');
  in.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!in || header.size() != bytes) refuse(file, "has no header of NumPy");
  if (!value_of(file, header, "fortran_order").starts_with("False"))
    refuse(file, "must be in C order: save numpy.ascontiguousarray(x)");
  auto const dims = shape_of(file, header);
  auto const count = count_of(file, dims);
  auto const type = value_of(file, header, "descr");
  if (type.starts_with("'<f2'"))
    return shaped(file, dims, head_dim, numbers_in<posenc::half>(in, file, count));
  if (type.starts_with("'<f4'"))
    return shaped(file, dims, head_dim, numbers_in<float>(in, file, count));
  if (type.starts_with("'<f8'"))
    return shaped(file, dims, head_dim, numbers_in<double>(in, file, count));
  refuse(file, "must be float16, float32 or float64, little-endian, got " +
                   std::string(type.substr(0, type.find(','))));
}

// The columns of a matrix [dims][inputs] become tokens.
heads_of_file columns_of(heads_of_file const& matrix) {
  auto const rows = matrix.tokens, columns = matrix.heads * matrix.head_dim;
  heads_of_file result{columns, 1, rows, true, std::vector<double>(matrix.numbers.size())};
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      result.numbers[column * rows + row] = matrix.numbers[row * columns + column];
  return result;
}

heads_of_file read_tensor(std::string const& file, std::string const& name,
                          std::size_t head_dim) {
  program::weight_files const from(file);
  auto const what = file + ":" + name;
  auto const& found = from.at(name);
  shape dims(found.shape.begin(), found.shape.end());
  while (dims.size() > 1 && dims.front() == 1) dims.erase(dims.begin());
  if (dims.empty() || dims.size() > 3)
    refuse(what, "must have 1 to 3 dimensions, got " + std::to_string(dims.size()));
  std::vector<double> numbers;
  found.each_row(
      0, static_cast<std::size_t>(count_of(what, dims) / dims.back()),
      [&](auto, auto const row) { numbers.insert(numbers.end(), row.begin(), row.end()); });
  if (!name.ends_with(".weight") || dims.size() != 2)
    return shaped(what, dims, head_dim, std::move(numbers));
  auto transposed = columns_of(shaped(what, dims, 0, std::move(numbers)));
  auto result = shaped(what, {transposed.tokens, transposed.head_dim}, head_dim,
                       std::move(transposed.numbers));
  result.of_weights = true;
  return result;
}

}  // namespace

heads_of_file read_heads(std::string const& from, std::size_t head_dim, bool may_be_masked) {
  errno = 0;
  std::string file;
  for (std::string const ending : {".gguf", ".safetensors"}) {
    if (from.ends_with(ending))
      refuse(from, "needs the name of a tensor: " + from + ":TENSOR");
    if (auto const colon = from.rfind(ending + ":"); colon != from.npos)
      file = from.substr(0, colon + ending.size());
  }
  auto result = file.empty() ? read_npy(from, head_dim)
                             : read_tensor(file, from.substr(file.size() + 1), head_dim);
  for (auto const x : result.numbers)
    if (!posenc::is_finite(x) && !(may_be_masked && posenc::is_masked(x)))
      refuse(from, "must have finite numbers");
  return result;
}
