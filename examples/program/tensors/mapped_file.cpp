#include "program/tensors/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#if __has_include(<sys/mman.h>) && !defined(PROGRAM_READS_FILES)  // as fuzz targets do
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define PROGRAM_MAPS_FILES
#endif

namespace program {
namespace {

[[noreturn]] void refuse(std::string const& file, int error) {
  throw std::runtime_error(
      file + ": cannot be read: " + (error != 0 ? std::strerror(error) : "unknown error"));
}

}  // namespace

mapped_file::mapped_file(std::string const& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    throw std::runtime_error(file + ": is a directory");
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    throw std::runtime_error(file + ": must be a file on a disk: tensors are read in any order");
  errno = 0;
#ifdef PROGRAM_MAPS_FILES
  int const opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) refuse(file, errno);
  struct stat about = {};
  void* at = MAP_FAILED;
  if (::fstat(opened, &about) == 0 && about.st_size > 0)
    at =
        ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, opened, 0);
  auto const error = errno;
  ::close(opened);
  if (about.st_size == 0) return;
  if (at == MAP_FAILED) refuse(file, error);
  bytes_ = {static_cast<unsigned char const*>(at), static_cast<std::size_t>(about.st_size)};
#else
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, errno);
  read_.assign(std::istreambuf_iterator<char>(in), {});
  bytes_ = read_;
#endif
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), read_(std::move(other.read_)) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(read_, other.read_);
  return *this;
}

mapped_file::~mapped_file() {
#ifdef PROGRAM_MAPS_FILES
  if (!bytes_.empty()) ::munmap(const_cast<unsigned char*>(bytes_.data()), bytes_.size());
#endif
}

}  // namespace program
