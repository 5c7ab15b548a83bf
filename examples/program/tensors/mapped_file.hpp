// The bytes of a file, mapped: a page is read when it is touched, and none is copied.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace program {

/// Where the system cannot map files, all bytes are read.
class mapped_file {
 public:
  /// Throws std::runtime_error, which names the file, unless it is a regular file that can be read.
  explicit mapped_file(std::string const& file);
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  std::span<unsigned char const> bytes() const { return bytes_; }

 private:
  std::span<unsigned char const> bytes_;
  std::vector<unsigned char> read_;  // empty if they are mapped
};

}  // namespace program
