// Folders of Hugging Face: config.json, tensors in safetensors, and the index of several files.
#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "posenc/model/hugging_face/read_model.hpp"
#include "program/tensors/weights.hpp"

namespace program {
namespace {

using posenc::detail::json;

constexpr auto index_end = ".safetensors.index.json";
constexpr std::uint64_t most_header = 100'000'000;  // as safetensors' own reader has it

std::optional<std::uint64_t> whole(json const& value) {
  return value.is_number_unsigned() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

// A member of an object, if it is a list of whole numbers.
std::optional<std::vector<std::uint64_t>> whole_list(json const& entry, char const* key) {
  auto const found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return {};
  std::vector<std::uint64_t> result;
  for (auto const& value : *found) {
    auto const n = whole(value);
    if (!n) return {};
    result.push_back(*n);
  }
  return result;
}

weight weight_of(std::string const& file, std::string const& name, json const& entry,
                 std::span<unsigned char const> data) {
  weight found{name, file, {}, {}, nullptr, {}};
  auto const shape = entry.is_object() ? whole_list(entry, "shape") : std::nullopt;
  if (!shape) found.refuse("must have a shape, a list of whole numbers");
  auto const offsets = whole_list(entry, "data_offsets");
  if (!offsets || offsets->size() != 2 || offsets->front() > offsets->back())
    found.refuse("must have data_offsets, where its bytes begin and end");
  auto const dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) found.refuse("must have a dtype, a string");

  std::uint64_t all = 1;
  for (auto const dim : *shape) {
    if (dim > most_numbers / std::max<std::uint64_t>(all, 1))
      found.refuse("must have at most 2^40 numbers");
    all *= dim;
    found.shape.push_back(static_cast<std::size_t>(dim));
  }
  found.type = dtype->get<std::string>();
  found.format = format_of(found.type);
  auto const begin = offsets->front(), end = offsets->back();
  if (end > data.size())
    found.refuse("must end within the file, which has " + std::to_string(data.size()) +
                 " bytes of numbers, got byte " + std::to_string(end));
  if (all == 0) {
    found.format = nullptr;
    found.type += " of no numbers";
  }
  if (found.format == nullptr) return found;
  if (end - begin != all * found.format->bytes)
    found.refuse("must have " + std::to_string(all * found.format->bytes) + " bytes, for " +
                 found.type + " " + found.shown_shape() + ", got " + std::to_string(end - begin));
  found.bytes =
      data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return found;
}

}  // namespace

std::vector<weight> weights_of_safetensors(std::string const& file,
                                           std::span<unsigned char const> bytes) {
  auto const refuse = [&](std::string const& why) { throw std::runtime_error(file + ": " + why); };
  std::uint64_t size = 0;
  if (bytes.size() < 8) refuse("must begin with the length of its header, 8 bytes");
  for (std::size_t i = 0; i < 8; ++i) size |= std::uint64_t{bytes[i]} << 8 * i;
  if (size > most_header || size > bytes.size() - 8)
    refuse("must have a header of at most " +
           std::to_string(std::min<std::uint64_t>(most_header, bytes.size() - 8)) +
           " bytes, got one of " + std::to_string(size));
  auto const length = static_cast<std::size_t>(size);
  std::string_view const text(reinterpret_cast<char const*>(bytes.data()) + 8, length);
  auto const header = posenc::detail::parsed_json(text, file);
  if (!header.is_object()) refuse("must have a header that is a JSON object");
  std::vector<weight> result;
  for (auto const& [name, entry] : header.items())
    if (name != "__metadata__")
      result.push_back(weight_of(file, name, entry, bytes.subspan(8 + length)));
  return result;
}

void weight_files::open_safetensors() {
  namespace fs = std::filesystem;
  fs::path const path(name_), folder(folder_);
  auto const add = [&](std::string const& file) {
    files_.emplace_back(file);
    auto found = weights_of_safetensors(file, files_.back().bytes());
    std::ranges::move(found, std::back_inserter(all_));
  };
  std::error_code ignored;
  auto index = folder / (std::string("model") + index_end), one = folder / "model.safetensors";
  if (name_.ends_with(index_end))
    index = path;
  else if (path.extension() == ".safetensors")
    return add(name_);
  else if (path != folder && path.filename() != "config.json")
    throw std::runtime_error(name_ + ": must be config.json, a .safetensors file or its index");
  if (!fs::exists(index, ignored)) {
    if (!fs::exists(one, ignored))
      throw std::runtime_error(name_ + ": has no model.safetensors, and no model" + index_end);
    return add(one.string());
  }
  auto const index_name = index.string();
  auto const refuse = [&](std::string const& why) {
    throw std::runtime_error(index_name + ": " + why);
  };
  mapped_file const mapped(index_name);
  auto const text =
      std::string_view(reinterpret_cast<char const*>(mapped.bytes().data()), mapped.bytes().size());
  auto const parsed = posenc::detail::parsed_json(text, index_name);
  auto const map = parsed.is_object() ? parsed.find("weight_map") : parsed.end();
  if (map == parsed.end() || !map->is_object())
    refuse("must have a weight_map, an object of tensors and the files that have them");
  std::set<std::string> files;
  for (auto const& [name, file] : map->items()) {
    if (!file.is_string() ||
        fs::path(file.get<std::string>()).filename() != file.get<std::string>())
      refuse("must name a file beside it for tensor " + name);
    files.insert(file.get<std::string>());
  }
  for (auto const& file : files) add((index.parent_path() / file).string());
  sort();
  for (auto const& [name, file] : map->items()) {
    auto const* const found = named(name);
    if (found == nullptr || fs::path(found->file).filename() != file.get<std::string>())
      refuse("must be right about tensor " + name + ", which is not in " + file.get<std::string>());
  }
}

posenc::model_description weight_files::description(bool as_llama) const {
  auto const unknown = as_llama ? posenc::unknown_model::as_llama : posenc::unknown_model::refused;
  if (is_gguf()) return posenc::read_gguf(gguf(), {.unknown = unknown});
  auto const config = text("config.json");
  if (!config) throw std::runtime_error(name_ + ": has no config.json beside it");
  return posenc::read_hugging_face(*config, "config.json", {.unknown = unknown});
}

}  // namespace program
