#include "text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace charts {
namespace {

constexpr unsigned byte(char c) { return static_cast<unsigned char>(c); }
constexpr bool continues(char c) { return (byte(c) & 0xc0) == 0x80; }

// The bytes of the first character; 0 if it is none that may be shown.
std::size_t first_size(std::string_view text) {
  unsigned const first = byte(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;

  std::size_t const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first > 0xf4 || text.size() < size) return 0;
  unsigned code = first & (0x7fu >> size);
  for (char const c : text.substr(1, size - 1)) {
    if (!continues(c)) return 0;
    code = code << 6 | (byte(c) & 0x3f);
  }
  constexpr std::array least{0u, 0u, 0xa0u, 0x800u, 0x10000u};
  bool const surrogate = code >= 0xd800 && code <= 0xdfff, not_a_character = (code & 0xfffe) == 0xfffe;
  return code >= least[size] && code <= 0x10ffff && !surrogate && !not_a_character ? size : 0;
}

}  // namespace

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    std::size_t const size = first_size(text);
    result.push_back(size > 0 ? text.substr(0, size) : "?");
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

std::string fitted(std::string_view text, int columns, bool utf8) {
  auto shown = characters(text);
  auto const room = static_cast<std::size_t>(std::max(columns, 0));
  if (shown.size() > room) {
    shown.resize(room);
    if (room > 0) shown.back() = utf8 ? "…" : "~";
  }
  std::string result;
  for (std::string_view const character : shown) result += utf8 || character.size() == 1 ? character : "?";
  return result;
}

int display_width(std::string_view text) {
  int width = 0;
  bool escape = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\x1b[") escape = true, ++i;
    else if (escape) escape = text[i] < '@' || text[i] > '~';
    else width += !continues(text[i]);
  }
  return width;
}

}  // namespace charts
