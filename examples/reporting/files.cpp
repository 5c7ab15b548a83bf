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
#include <sstream>
#include <stdexcept>

namespace reporting {
namespace {

[[noreturn]] void cannot_write(std::string const& name) {
  throw std::runtime_error("cannot write " + name + ": " + std::strerror(errno));
}

// A file that is replaced, rather than written in place.
bool is_replaced(std::string const& name) {
  std::error_code ignored;
  auto const type = std::filesystem::symlink_status(name, ignored).type();
  return type == std::filesystem::file_type::not_found ||
         type == std::filesystem::file_type::regular;
}

// Lies beside the file, until it takes the file's name.
std::string part_of(std::string const& name) {
  return name + "." + std::to_string(getpid()) + ".part";
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
    bool const is_new = !std::filesystem::exists(name, ignored) && is_replaced(name);
    auto const tried = is_new ? part_of(name) : name;
    if (!std::ofstream(tried, std::ios::app)) cannot_write(name);
    if (is_new) std::filesystem::remove(tried, ignored);
  }
}

void write_file(std::string const& name, std::function<void(std::ostream&)> const& put) {
  if (name.empty()) return;
  std::ostringstream text;
  put(text);
  auto const write = [&](std::string const& to) {
    std::ofstream file(to);
    file << text.str();
    file.close();
    return static_cast<bool>(file);
  };
  auto const part = part_of(name);
  // In place, too, where nothing can lie beside the file.
  if (!is_replaced(name) || !std::ofstream(part)) {
    if (!write(name)) cannot_write(name);
    return;
  }
  std::error_code ignored;
  auto const mode = std::filesystem::status(name, ignored).permissions();
  if (write(part)) {
    if (!ignored) std::filesystem::permissions(part, mode, ignored);
    if (std::rename(part.c_str(), name.c_str()) == 0) return;
  }
  auto const why = errno;
  std::filesystem::remove(part, ignored);
  errno = why;
  cannot_write(name);
}

void check_standard_output() {
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) throw std::runtime_error("the standard output is closed");
}

void check_written() {
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to the standard output");
}

}  // namespace reporting
