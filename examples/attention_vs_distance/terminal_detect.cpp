#include "terminal_chart.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#if __has_include(<sys/ioctl.h>) && __has_include(<unistd.h>)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace charts {
namespace {

std::string_view environment(char const* name) {
  char const* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool speaks_utf8() {
  for (char const* const name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (std::string locale(environment(name)); !locale.empty()) {
      std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    }
  return false;
}

}  // namespace

terminal_style detect(std::FILE* stream) {
  terminal_style style;
  style.utf8 = speaks_utf8();
  int columns = std::atoi(std::string(environment("COLUMNS")).c_str());
#if __has_include(<sys/ioctl.h>) && __has_include(<unistd.h>)
  int const file = fileno(stream);
  style.colour = isatty(file) == 1 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns = size.ws_col;
#else
  static_cast<void>(stream);
#endif
  if (columns > 0) style.columns = columns;
  return style;
}

}  // namespace charts
