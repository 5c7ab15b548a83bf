#include "program/tensors/weights.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <tuple>

#include "posenc/core/fast_math.hpp"
#include "posenc/model/gguf.hpp"

namespace program {
namespace {

constexpr auto string_type = static_cast<std::uint32_t>(posenc::detail::gguf_type::string);

// A list of the header of a file in memory, by read(bytes) for each value; nothing where it is
// absent.
template <class T>
std::optional<std::vector<T>> list_of(posenc::gguf_metadata const& header,
                                      std::span<unsigned char const> file, std::string_view key,
                                      bool of_strings, auto const& read) {
  auto const* const value = header.value_of(key);
  if (value == nullptr) return {};
  auto const* const list = std::get_if<posenc::gguf_list>(value);
  if (list == nullptr || (list->type == string_type) != of_strings)
    header.refuse(key, of_strings ? "be a list of strings" : "be a list of numbers");
  posenc::detail::gguf_bytes bytes(std::as_bytes(file), header.file());
  bytes.subject(std::string(key));
  bytes.move_to(list->begin);
  std::vector<T> result;
  for (std::uint64_t i = 0; i < list->size; ++i) result.push_back(read(bytes, *list));
  return result;
}

}  // namespace

std::size_t weight::rows() const {
  std::size_t result = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) result *= shape[i];
  return result;
}

void weight::decode(std::size_t first, std::size_t count, float* numbers) const {
  auto const blocks = columns() / format->numbers;
  format->decode(bytes.data() + first * blocks * format->bytes, count * blocks, numbers);
}

void weight::each_row(
    std::size_t first, std::size_t count,
    std::function<void(std::size_t row, std::span<float const> numbers)> const& use) const {
  if (first > rows() || count > rows() - first)
    refuse("must have rows " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
           ", has " + std::to_string(rows()));
  std::vector<float> numbers(columns());
  for (auto row = first; row < first + count; ++row) {
    decode(row, 1, numbers.data());
    if (!std::ranges::all_of(numbers, [](float x) { return posenc::is_finite(x); }))
      refuse("must have finite numbers, got another in row " + std::to_string(row));
    use(row, numbers);
  }
}

std::string weight::shown_shape() const {
  std::string text = "[";
  for (auto const dim : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(dim);
  return text + "]";
}

void weight::refuse(std::string const& why) const {
  throw std::runtime_error(file + ":" + name + ": " + why);
}

weight_files::weight_files(std::string model) : name_(std::move(model)) {
  std::filesystem::path const path(name_);
  std::error_code ignored;
  bool const is_folder = std::filesystem::is_directory(path, ignored);
  folder_ = is_folder ? name_ : path.parent_path().string();
  auto const extension = path.extension();
  if (is_folder || extension == ".safetensors" || extension == ".json")
    open_safetensors();
  else
    open_gguf();
  sort();
}

void weight_files::open_gguf() {
  std::filesystem::path const path(name_);
  files_.emplace_back(name_);
  std::ifstream in(path, std::ios::binary);
  gguf_ = std::make_unique<posenc::gguf_metadata const>(posenc::read_gguf_metadata(in, path));
  std::vector<std::string> names{name_};
  for (std::size_t i = 1; i < gguf_->parts().size(); ++i) {
    names.push_back((path.parent_path() / gguf_->parts()[i].file).string());
    files_.emplace_back(names.back());
  }
  for (auto const& [name, tensor] : gguf_->tensors()) {
    auto const* const format = format_of(tensor.type);
    weight found{name,
                 names[tensor.part],
                 {tensor.dims.rbegin(), tensor.dims.rend()},
                 format != nullptr ? std::string(format->name)
                                   : "ggml's type " + std::to_string(tensor.type),
                 format,
                 {}};
    std::uint64_t all = 1;
    for (auto const dim : tensor.dims) {
      if (dim == 0 || dim > most_numbers / all) found.refuse("must have 1 to 2^40 numbers");
      all *= dim;
    }
    if (format == nullptr) {
      all_.push_back(std::move(found));
      continue;
    }
    if (found.columns() % format->numbers != 0)
      found.refuse("must have rows of whole blocks, a multiple of " +
                   std::to_string(format->numbers) + " numbers of " + found.type + ", got " +
                   std::to_string(found.columns()));
    if (tensor.offset >> 62 != 0) found.refuse("must have an offset below 2^62");  // else it wraps
    auto const bytes = files_[tensor.part].bytes();
    auto const begin = gguf_->parts()[tensor.part].data_begin + tensor.offset,
               size = all / format->numbers * format->bytes;
    if (begin > bytes.size() || size > bytes.size() - begin)
      found.refuse("must end within the file, of " + std::to_string(bytes.size()) +
                   " bytes, got byte " + std::to_string(begin + size));
    found.bytes = bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    all_.push_back(std::move(found));
  }
}

// By place, to see whether one overlaps the next; then by name.
void weight_files::sort() {
  std::ranges::sort(all_, {}, [](weight const& w) { return w.bytes.data(); });
  for (std::size_t i = 1; i < all_.size(); ++i) {
    auto const &before = all_[i - 1], &next = all_[i];
    if (before.format != nullptr && before.bytes.data() + before.bytes.size() > next.bytes.data())
      next.refuse("must not overlap another tensor, got one that overlaps " + before.name);
  }
  std::ranges::sort(all_, {}, [](weight const& w) { return std::tie(w.name, w.file); });
  auto const twice = std::ranges::adjacent_find(all_, {}, &weight::name);
  if (twice != all_.end())
    twice->refuse("must be there once, and is in " + twice[1].file + ", too");
}

weight const* weight_files::named(std::string_view name) const {
  auto const found = std::ranges::lower_bound(all_, name, {}, &weight::name);
  return found == all_.end() || found->name != name ? nullptr : &*found;
}

weight const* weight_files::find(std::string_view name) const {
  auto const* const found = named(name);
  if (found != nullptr && found->format == nullptr)
    found->refuse("must be " + format_names() + ", got " + found->type);
  return found;
}

weight const& weight_files::at(std::string_view name) const {
  auto const* const found = find(name);
  if (found == nullptr) throw std::runtime_error(name_ + ": has no tensor " + std::string(name));
  if (found->format == nullptr) found->refuse("must be " + format_names() + ", got " + found->type);
  return *found;
}

std::optional<std::vector<std::string>> weight_files::strings(std::string_view key) const {
  return list_of<std::string>(
      *gguf_, files_.front().bytes(), key, true,
      [](auto& bytes, auto const&) { return bytes.text(posenc::gguf_most_text).first; });
}

std::optional<std::vector<double>> weight_files::numbers(std::string_view key) const {
  return list_of<double>(
      *gguf_, files_.front().bytes(), key, false, [](auto& bytes, posenc::gguf_list const& list) {
        auto const type = static_cast<posenc::detail::gguf_type>(list.type);
        auto const size = posenc::detail::size_of(bytes, type);
        return *posenc::detail::as_number(posenc::detail::read_gguf_scalar(bytes, type, size));
      });
}

std::optional<std::string> weight_files::text(std::string const& file) const {
  auto const path = std::filesystem::path(folder_) / file;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  mapped_file const mapped(path.string());
  return std::string(mapped.bytes().begin(), mapped.bytes().end());
}

}  // namespace program
