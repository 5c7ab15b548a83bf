#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "reporting/terminal_chart.hpp"

namespace charts {
namespace {

std::string environment(char const* name) {
  char const* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

terminal_style detect(std::FILE* stream) {
  terminal_style style;
  std::string locale;
  for (char const* const name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (locale.empty()) locale = environment(name);
  std::ranges::transform(locale, locale.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  style.utf8 =
      locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;

  int const file = fileno(stream);
  // mpiexec runs its ranks in terminals of their own, and writes what they say to wherever it was
  // told to, perhaps a file.
  bool const of_mpiexec =
      !environment("OMPI_COMM_WORLD_RANK").empty() || !environment("PMI_RANK").empty();
  style.colour = isatty(file) == 1 && !of_mpiexec && environment("NO_COLOR").empty() &&
                 environment("TERM") != "dumb";

  winsize window{};
  long const columns = std::strtol(environment("COLUMNS").c_str(), nullptr, 10);  // or its bounds
  auto const given = [&]() -> long {
    if (!of_mpiexec && ioctl(file, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
      return window.ws_col;
    return columns > 0 ? columns : style.columns;
  }();
  style.columns = static_cast<int>(std::clamp<long>(given, least_columns, most_columns));
  return style;
}

}  // namespace charts
