// Values of a GGUF file in errors and in descriptions.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/values.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

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

}}}  // namespace posenc::detail
