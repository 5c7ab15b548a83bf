#include "reporting/progress_line.hpp"

#include <unistd.h>

#include <cstdio>

namespace reporting {

progress_line::progress_line() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

progress_line::~progress_line() {
  if (!shown_.empty()) std::fputs("\r\033[K", stderr);
}

void progress_line::show(std::string const& what, double part) {
  if (!on_terminal_) return;
  auto const line = what + ": " + std::to_string(static_cast<int>(100 * part)) + " %";
  if (line == shown_) return;
  shown_ = line;
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
}

}  // namespace reporting
