// How much of the work is done, on one line of the terminal.
#pragma once

#include <string>

namespace reporting {

/// Writes to the standard error where that is a terminal, else nothing; wiped out at the end.
class progress_line {
 public:
  progress_line();
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line();

  /// part: of the whole, 0 to 1.
  void show(std::string const& what, double part);

 private:
  bool on_terminal_;
  std::string shown_ = {};
};

}  // namespace reporting
