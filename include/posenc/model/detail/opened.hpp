// Files of models, opened by their paths.
#pragma once

#include <fstream>
#include <version>
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
#include <filesystem>
#endif

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A directory opens, too.
inline bool is_readable(std::ifstream const& in, std::filesystem::path const& file) {
  return in.is_open() && !std::filesystem::is_directory(file);
}

/// Throws std::invalid_argument for a file that cannot be read.
inline std::ifstream opened(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  require(is_readable(in, file), file.string(), ": must be a file that can be read");
  return in;
}

}}}  // namespace posenc::detail
#endif
