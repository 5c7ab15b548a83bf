#include "reporting/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace reporting {
namespace {

[[noreturn]] void cannot_write(std::string const& name) {
  throw std::runtime_error("cannot write " + name + ": " + std::strerror(errno));
}

}  // namespace

void check_writable(std::vector<std::string> const& names) {
  for (auto const& name : names) {
    if (name.empty()) continue;
    if (std::ranges::count(names, name) > 1)
      throw std::runtime_error("options must name different files, got " + name + " twice");
    // The reader of a pipe would see its end when this closes it.
    std::error_code ignored;
    if (std::filesystem::is_fifo(name, ignored)) continue;
    if (!std::ofstream(name, std::ios::app)) cannot_write(name);
  }
}

void write_file(std::string const& name, std::function<void(std::ostream&)> const& put) {
  if (name.empty()) return;
  std::ofstream file(name);
  put(file);
  file.close();
  if (!file) cannot_write(name);
}

void check_standard_output() {
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) throw std::runtime_error("the standard output is closed");
}

void check_written() {
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to the standard output");
}

}  // namespace reporting
