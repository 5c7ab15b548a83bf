#include "reporting/progress_line.hpp"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>

namespace reporting {

namespace {

std::string shown_time(double seconds) {
  auto const whole = std::lround(seconds);
  return whole < 100 ? std::to_string(whole) + " s" : std::to_string((whole + 30) / 60) + " min";
}

}  // namespace

progress_line::progress_line() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

progress_line::~progress_line() {
  if (!shown_.empty()) std::fputs("\r\033[K", stderr);
}

void progress_line::show(std::string const& what, double part) {
  if (!on_terminal_) return;
  auto line = what + ": " + std::to_string(static_cast<int>(100 * part)) + " %";
  auto const passed = std::chrono::duration<double>(clock::now() - start_).count();
  if (passed >= 2 && part > 0 && part < 1)
    line += ", about " + shown_time(passed * (1 - part) / part) + " left";
  if (line == shown_) return;
  shown_ = line;
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
}

}  // namespace reporting
