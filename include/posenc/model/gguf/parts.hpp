// The header of a model in several GGUF files.
#pragma once

#include <cstdio>
#include <fstream>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/metadata.hpp"
#include "posenc/model/opened.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// The name of a part of a model, counted from 0, beside one whose name ends as llama.cpp names
/// part `no` of `all`, -00001-of-00003.gguf for the first; nothing for a name that ends otherwise.
inline std::optional<std::string> gguf_part_name(std::string_view name, std::size_t no,
                                                 std::size_t all, std::size_t wanted) {
  auto const end_of = [all](std::size_t part) {
    char text[64];
    std::snprintf(text, sizeof text, "-%05zu-of-%05zu.gguf", part + 1, all);
    return std::string(text);
  };
  auto const end = end_of(no);
  if (!name.ends_with(end)) return {};
  return std::string(name.substr(0, name.size() - end.size())) + end_of(wanted);
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

}  // namespace detail

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
/// Reads the header of a model from a stream, whose file is `file`, and from the other files of
/// the model, which lie beside it and are named as llama.cpp names them:
/// NAME-00001-of-00003.gguf.
///
/// Throws std::invalid_argument for what gguf_metadata and its add_part refuse, for a file that is
/// not the first of the model, one of another name, and a file of the model that is missing.
inline gguf_metadata read_gguf_metadata(std::istream& in, std::filesystem::path const& file) {
  auto const name = file.filename().string();
  gguf_metadata header(in, name);
  detail::require_first(header);
  auto const all = header.files_of_model();
  for (std::size_t i = 1; i < all; ++i) {
    auto const next = detail::gguf_part_name(name, 0, all, i);
    header.require(next.has_value(), "split.count",
                   "be 1 for a file whose name does not end in -00001-of-0000N.gguf, by which the "
                   "other files of the model would be found");
    auto const path = file.parent_path() / *next;
    std::ifstream part(path, std::ios::binary);
    header.require(detail::is_readable(part, path), "split.count",
                   "be the number of files beside it: " + *next + " must be one that can be read");
    header.add_part({part, *next});
  }
  return header;
}

/// Reads the first file of a model, or its only one, by its path, and the others.
inline gguf_metadata read_gguf_metadata(std::filesystem::path const& first) {
  auto in = detail::opened(first);
  return read_gguf_metadata(in, first);
}
#endif

}  // namespace posenc
