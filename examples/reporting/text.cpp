#include "reporting/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <ostream>
#include <vector>

namespace charts {
namespace {

constexpr unsigned byte(char c) { return static_cast<unsigned char>(c); }
constexpr bool continues(char c) { return (byte(c) & 0xc0) == 0x80; }

// The bytes of the first character, 0 if it cannot be shown.
std::size_t leading(std::string_view text) {
  unsigned const first = byte(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first >= 0xf8 || text.size() < size) return 0;
  unsigned code = first & (0x7fu >> size);
  for (char const c : text.substr(1, size - 1)) {
    if (!continues(c)) return 0;
    code = code << 6 | (byte(c) & 0x3f);
  }
  constexpr std::array least{0u, 0u, 0xa0u, 0x800u, 0x10000u};
  bool const surrogate = code >= 0xd800 && code < 0xe000,
             unassigned = (code & 0xfffe) == 0xfffe || code > 0x10ffff;
  return code < least[size] || surrogate || unassigned ? 0 : size;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  bool escape = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\x1b[")
      escape = true, ++i;
    else if (escape)
      escape = text[i] < '@' || text[i] > '~';
    else
      width += !continues(text[i]);
  }
  return width;
}

std::string fitted(std::string_view text, int columns, bool utf8) {
  std::vector<std::string_view> shown;
  for (std::size_t size; !text.empty(); text.remove_prefix(std::max<std::size_t>(size, 1))) {
    size = leading(text);
    shown.push_back(size == 0 || (size > 1 && !utf8) ? "?" : text.substr(0, size));
  }
  auto const room = static_cast<std::size_t>(std::max(columns, 1));
  if (shown.size() > room) {
    shown.resize(room);
    shown.back() = utf8 ? "…" : "~";
  }
  std::string result;
  for (std::string_view const character : shown) result += character;
  return result;
}

std::string cell(std::string const& text, std::size_t width) {
  auto const used = static_cast<std::size_t>(display_width(text));
  return std::string(width - std::min(width, used), ' ') + text;
}
std::string padded(std::string const& text, std::size_t width) {
  auto const used = static_cast<std::size_t>(display_width(text));
  return text + std::string(width - std::min(width, used), ' ');
}

std::string grouped(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string fixed(double number, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, number);
  return text;
}

std::string counted(std::uint64_t number, std::string const& noun) {
  return grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string joined(std::vector<std::string> const& texts, std::string const& last) {
  std::string list;
  for (std::size_t i = 0; i < texts.size(); ++i)
    list += (i == 0 ? "" : i + 1 == texts.size() ? last : ", ") + texts[i];
  return list;
}

void print_folded(std::ostream& out, std::string const& sentence, int columns) {
  auto const width = static_cast<std::size_t>(std::max(40, columns));
  std::size_t used = 0;
  for (std::size_t at = 0; at < sentence.size();) {
    auto const end = std::min(sentence.find(' ', at), sentence.size());
    if (used > 0 && used + 1 + (end - at) > width)
      out << "\n    ", used = 4;
    else if (used > 0)
      out << ' ', ++used;
    out << std::string_view(sentence).substr(at, end - at);
    used += end - at, at = end + 1;
  }
  out << '\n';
}

}  // namespace charts
