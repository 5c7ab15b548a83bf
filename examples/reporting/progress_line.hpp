// How much of the work is done and how long the rest may take, on one line of the terminal.
#pragma once

#include <chrono>
#include <string>

namespace reporting {

/// Writes to the standard error where that is a terminal, else nothing; wiped out at the end.
class progress_line {
 public:
  progress_line();
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line();

  /// part: of the whole, 0 to 1. The rest is estimated from 2 seconds on, at the speed so far.
  void show(std::string const& what, double part);

 private:
  using clock = std::chrono::steady_clock;

  bool on_terminal_;
  clock::time_point start_ = clock::now();
  std::string shown_ = {};
};

}  // namespace reporting
