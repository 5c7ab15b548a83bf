// Parses JSON into a value, with the file's name in each error. (nlohmann-json)
#pragma once

#include <nlohmann/json.hpp>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

using json = nlohmann::json;

/// JSON on one line.
inline std::string json_text(json const& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// At most 60 bytes of a text in UTF-8, in whole characters.
inline std::string shortened(std::string_view text) {
  std::size_t end = 60;
  if (text.size() <= end) return std::string(text);
  while ((text[end] & 0xc0) == 0x80) --end;  // within a character
  return std::string(text.substr(0, end)) + "...";
}

/// A value in an error: a scalar as it is written, shortened; a container by its size.
inline std::string shown_json(json const& value) {
  if (value.is_object()) return "an object of " + std::to_string(value.size()) + " keys";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  auto const text = shortened(json_text(value));
  return value.is_string() ? "the string " + text : text;
}

/// The name of a key in an error or a note: as JSON escapes it, shortened, without its quotes.
inline std::string shown_key(std::string_view name) {
  auto const text = json_text(std::string(name));
  return shortened(std::string_view(text).substr(1, text.size() - 2));
}

/// Builds a JSON value by the functions of nlohmann::json_sax. json::parse with a callback tells
/// less, and compiles the parser twice.
class json_builder {
 public:
  explicit json_builder(std::string const& file) : file_(file) {}
  json built;

  bool null() { return add(nullptr); }
  bool boolean(bool x) { return add(x); }
  bool number_integer(std::int64_t x) { return add(x); }
  bool number_unsigned(std::uint64_t x) { return add(x); }
  bool number_float(double x, std::string const&) { return add(x); }
  bool string(std::string& x) { return add(std::move(x)); }
  bool binary(json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string const& name) {
    auto const [member, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(name);
    require(is_new, file_, ": each key must appear once in its object, got ", shown_json(name),
            " twice");
    member_ = &member->second;
    return true;
  }
  [[noreturn]] bool parse_error(std::size_t, std::string const&, json::exception const& error) {
    std::string const what = error.what();  // after its [number]
    refuse(file_, ": must be JSON: ", what.substr(what.find("] ") + 2, 200));
  }

 private:
  json& place_of(json value) {
    if (open_.empty()) return built = std::move(value);
    if (!open_.back()->is_array()) return *member_ = std::move(value);
    return open_.back()->emplace_back(std::move(value));
  }
  bool add(json value) { return place_of(std::move(value)), true; }
  bool open(json container) {
    require(open_.size() < 64, file_, ": must not nest deeper than 64 levels");
    open_.push_back(&place_of(std::move(container)));
    return true;
  }
  bool close() { return open_.pop_back(), true; }

  std::string const& file_;
  std::vector<json*> open_;  // each in the one before, which does not grow meanwhile
  json* member_ = nullptr;   // the value of the last key
};

/// The text with each Infinity that Python writes as a number in quotes: JSON has none, and where a
/// number is read, the string is an error.
inline std::string with_quoted_infinities(std::string_view text) {
  constexpr std::string_view word = "Infinity";
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!in_string && text.substr(i).starts_with(word)) {
      bool const is_negative = result.ends_with('-');
      if (is_negative) result.pop_back();
      (result += is_negative ? "\"-" : "\"").append(word) += '"';
      i += word.size() - 1;
      continue;
    }
    result += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      result += text[++i];
    } else if (text[i] == '"') {
      in_string = !in_string;
    }
  }
  return result;
}

/// Throws std::invalid_argument unless the text is JSON, with no key twice and at most 64 levels.
inline json parsed_json(std::string_view text, std::string const& file) {
  require(!text.empty(), file, ": is empty");
  json_builder builder(file);
  std::string quoted;
  if (text.find("Infinity") != std::string_view::npos) text = quoted = with_quoted_infinities(text);
  json::sax_parse(text, &builder);
  return std::move(builder.built);
}

}}}  // namespace posenc::detail
