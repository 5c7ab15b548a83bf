#include "program/models/reading.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "posenc/model/hugging_face/read_model.hpp"
#include "program/models/shipped.hpp"
#include "program/nearest.hpp"

namespace program {
namespace {

shipped_model const* shipped(std::string_view name) {
  auto const all = all_shipped_models();
  auto const found = std::ranges::find(all, name, &shipped_model::name);
  return found == all.end() ? nullptr : &*found;
}

std::ifstream opened(std::string const& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    auto const inside = std::filesystem::path(file) / "config.json";
    bool const has_config = std::filesystem::is_regular_file(inside, ignored);
    throw std::runtime_error(file + ": is a directory" +
                             (has_config ? "; give " + inside.string() : std::string()));
  }
  std::ifstream in(file, std::ios::binary);
  if (in) return in;
  auto const why = file + ": cannot be read: " + std::strerror(errno);
  // A name without a folder and a point may be meant for a model.
  auto const near = file.find_first_of("./") == file.npos ? nearest(file, shipped_models()) : "";
  throw std::runtime_error(why + (near.empty() ? "" : "; the nearest model is " + near));
}

// The digits of a decimal that its value depends on.
std::size_t significant_digits(std::string_view decimal) {
  std::string digits;
  for (char const c : decimal.substr(0, decimal.find_first_of("eE"))) {
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  return digits.size();
}

class decimals {
 public:
  explicit decimals(std::string file) : file_(std::move(file)) {}

  void add(std::string const& word) {
    char* end = nullptr;
    auto const x = std::strtod(word.c_str(), &end);
    if (end != word.c_str() + word.size())
      throw std::runtime_error(file_ + ": must be a list of numbers, got " + word.substr(0, 40));
    table_.numbers.push_back(x);
    digits_ = std::max(digits_, significant_digits(word));
  }

  // Up to 9 digits may be rounded numbers, of 4 or more: too few tell nothing. More are doubles.
  number_table table() {
    if (table_.numbers.empty())
      throw std::runtime_error(file_ + ": must have at least one number, got none");
    if (4 <= digits_ && digits_ <= 9)
      table_.unit_roundoff = 0.5 * std::pow(10, 1 - static_cast<double>(digits_)) + 0x1p-24;
    return table_;
  }

 private:
  std::string file_;
  std::size_t digits_ = 0;
  number_table table_;
};

number_table table_of_text(std::string const& file, std::string const& text) {
  decimals list(file);
  std::string word;
  bool is_comment = false;
  for (char const c : text + "\n") {
    is_comment = c != '\n' && (is_comment || c == '#');
    if (!is_comment && std::string_view(" \t\r\n,;[]()").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      list.add(word);
      word.clear();
    }
  }
  return list.table();
}

number_table table_of_object(std::string const& file, std::string const& text) {
  auto const parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.contains("inv_freq") || !parsed["inv_freq"].is_array())
    throw std::runtime_error(file + ": must be a JSON object with an array inv_freq");
  decimals list(file);
  for (auto const& x : parsed["inv_freq"]) list.add(x.dump());
  return list.table();
}

std::vector<number_table> tables_of_gguf(std::string const& file, std::istream& in) {
  auto const metadata = posenc::read_gguf_metadata(in, file);
  auto const type = metadata.text("general.architecture").value_or("");
  auto const base = metadata.number(type + ".rope.freq_base").value_or(1e4);
  std::vector<number_table> tables;
  for (auto const name : posenc::gguf_metadata::rope_tensors) {
    if (auto const values = metadata.values(name))
      tables.push_back({std::string(name), *values, {}, base});
  }
  if (tables.empty())
    throw std::runtime_error(file +
                             ": has no tensor rope_freqs, rope_factors_long or rope_factors_short: "
                             "its frequencies come of its keys");
  return tables;
}

}  // namespace

std::vector<std::string> shipped_models() {
  std::vector<std::string> names;
  for (auto const& model : all_shipped_models()) names.emplace_back(model.name);
  return names;
}

model_file read_model_file(std::string const& file, std::optional<bool> as_llama) {
  using posenc::unknown_model;
  std::error_code ignored;
  if (auto const* model = shipped(file); model && !std::filesystem::exists(file, ignored)) {
    std::istringstream text{std::string(model->text)};
    return {posenc::read_model(text, file), false};
  }
  auto in = opened(file);
  bool const is_gguf = posenc::is_gguf(in, file);
  try {
    return {posenc::read_model(in, file,
                               as_llama == true ? unknown_model::as_llama : unknown_model::refused),
            is_gguf};
  } catch (std::invalid_argument const& error) {  // which speaks to C++
    std::string sentence = error.what();
    constexpr std::string_view hint = "unknown_model::as_llama is asked for";
    if (auto const at = sentence.find(hint); as_llama && at != sentence.npos)
      sentence.replace(at, hint.size(), "--as-llama is given");
    throw std::invalid_argument(sentence);
  }
}

posenc::model_description read_model(std::string const& file, std::optional<bool> as_llama) {
  return read_model_file(file, as_llama).model;
}

std::vector<number_table> read_tables(std::string const& file) {
  auto in = opened(file);
  if (posenc::is_gguf(in, file)) return tables_of_gguf(file, in);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) throw std::runtime_error(file + ": cannot be read: " + std::strerror(errno));
  if (text.empty()) throw std::runtime_error(file + ": is empty");
  auto const first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return {table_of_object(file, text)};
  return {table_of_text(file, text)};
}

}  // namespace program
