// The header of a model in several GGUF files.
#pragma once

#include <cstdio>
#include <fstream>
#include <version>
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
#include <filesystem>
#endif

#include "posenc/core/target.hpp"
#include "posenc/model/detail/opened.hpp"
#include "posenc/model/gguf/metadata.hpp"

namespace posenc { inline namespace POSENC_TARGET {

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
/// Reads the first file of a model, or its only one, by its path, and from the other files of the
/// model, which lie beside it and are named as llama.cpp names them: NAME-00001-of-00003.gguf.
///
/// Throws std::invalid_argument if gguf_metadata or its add_part does. A model in several files
/// must also be given by its first file, all files must be named so, and every other file must be
/// a regular file.
inline gguf_metadata read_gguf_metadata(std::filesystem::path const& first);
/// Reads the first file from a stream, whose file is `file`.
inline gguf_metadata read_gguf_metadata(std::istream& in, std::filesystem::path const& file);
#endif

namespace detail {

/// How llama.cpp ends the name of part `no` of `all`, counted from 0: -00001-of-00003.gguf.
inline std::string gguf_part_end(std::size_t no, std::size_t all) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05zu-of-%05zu.gguf", no + 1, all);
  return text;
}

/// The name of a part of a model beside one whose name ends as that of part `no` of `all`; nothing
/// for a name that ends otherwise.
inline std::optional<std::string> gguf_part_name(std::string_view name, std::size_t no,
                                                 std::size_t all, std::size_t wanted) {
  auto const end = gguf_part_end(no, all);
  if (!name.ends_with(end)) return {};
  return std::string(name.substr(0, name.size() - end.size())) + gguf_part_end(wanted, all);
}

/// Refuses a file that is not the first of its model: keys stand in the first.
inline void require_first(gguf_metadata const& header) {
  auto const no = header.count("split.no", 0, 65'535).value_or(0), all = header.files_of_model();
  auto const first = gguf_part_name(header.file(), no, all, 0);
  header.require(no == 0 || all == 1, "split.no",
                 "be 0, for the keys of a model are in its first file: give " +
                     first.value_or("the first of the " + shown(all)));
}

/// Refuses the header of one file of several: a tensor that lies in another would count as absent.
inline void require_whole(gguf_metadata const& header) {
  require_first(header);
  header.require(header.parts().size() == header.files_of_model(), "split.count",
                 "be 1 where other files of the model are not read: give the path of the first, "
                 "with the others beside it, or join them");
}

/// A sentence if the files have another number of tensors than the keys say; else empty.
inline std::string says_which_are_missing(gguf_metadata const& header) {
  constexpr auto key = "split.tensors.count";
  auto const there = header.tensors().size(),
             all = header.count(key, 0, (1u << 31) - 1).value_or(there);
  return all == there ? std::string()
                      : std::string(key) + " is " + shown(all) + ", and the model's files have " +
                            shown(there) + " tensors: one that is missing counts as absent.";
}

/// Returns a sentence if the file's name says that it is one of several files, and its keys say
/// that it is the only one; else an empty string.
inline std::string says_name_of_part(gguf_metadata const& header) {
  constexpr std::string_view end = "-00001-of-00002.gguf";
  constexpr auto key = "split.count";
  auto const& name = header.file();
  if (header.files_of_model() > 1 || name.size() < end.size()) return {};
  auto const last = std::string_view(name).substr(name.size() - end.size());
  auto const number = [&](std::size_t at) {
    std::size_t result = 0;
    for (char const c : last.substr(at, 5)) {
      if (c < '0' || c > '9') return std::size_t{0};
      result = 10 * result + static_cast<std::size_t>(c - '0');
    }
    return result;
  };
  auto const part = number(1), all = number(10);
  if (all < 2 || part == 0 || part > all || last != gguf_part_end(part - 1, all)) return {};
  auto const count = header.count(key, 0, 1);
  return "The name of the file is that of part " + shown(part) + " of " + shown(all) +
         " of a model, and " + key + " is " + (count ? shown(*count) : "absent") +
         ": only this file is read, and a tensor of another counts as absent.";
}

}  // namespace detail

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
inline gguf_metadata read_gguf_metadata(std::istream& in, std::filesystem::path const& file) {
  auto const name = file.filename().string();
  gguf_metadata header(in, name);
  detail::require_first(header);
  auto const all = header.files_of_model();
  for (std::size_t i = 1; i < all; ++i) {
    auto const next = detail::gguf_part_name(name, 0, all, i);
    std::error_code ignored;
    bool const is_pipe =
        std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
    header.require(next.has_value(), "split.count",
                   "be 1 unless the name of the file ends in " + detail::gguf_part_end(0, all) +
                       ", by which the other files of the model are found" +
                       (is_pipe ? ": several files cannot come from a pipe" : ""));
    auto const path = file.parent_path() / *next;
    auto const status = std::filesystem::status(path, ignored);
    bool const is_regular = std::filesystem::is_regular_file(status);
    std::ifstream part;
    if (is_regular) part.open(path, std::ios::binary);  // to open a pipe waits for its writer
    detail::require(part.is_open(), *next, ", file ", i + 1, " of the ", all,
                    " of the model, must be a regular file that can be read, beside ", name,
                    !std::filesystem::exists(status)        ? ", and is absent"
                    : std::filesystem::is_directory(status) ? ", got a directory"
                    : is_regular                            ? ", got one that cannot be opened"
                                                            : ", got a pipe or a device");
    header.add_part({part, *next});
  }
  return header;
}

inline gguf_metadata read_gguf_metadata(std::filesystem::path const& first) {
  auto in = detail::opened(first);
  return read_gguf_metadata(in, first);
}
#endif

}}  // namespace posenc
