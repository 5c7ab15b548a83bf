// Reads how a model encodes positions from the header of a GGUF file.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <variant>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/parts.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How to read a GGUF file.
struct gguf_options {
  unknown_model unknown = unknown_model::refused;  ///< architectures that are not known
  /// The layout of pairs of an unknown architecture; interleaved, as Llama's in GGUF, if not given.
  std::optional<std::variant<halves, interleaved>> layout = {};
};

/// Reads a file, or a model in several files by the path of the first. Reads the keys of more than
/// a hundred architectures of llama.cpp, and the tensors rope_freqs, rope_factors_long and
/// rope_factors_short. For an absent key llama.cpp's default is used and listed in `assumptions`.
///
///     auto const model = read_gguf("Llama-3.1-8B-Q4_K_M.gguf");
///
/// A model in several files is read by the path of the first, NAME-00001-of-00003.gguf, with the
/// others beside it: each may have some of the tensors.
///
/// The layout of pairs is that of the weights in the file: converters permute the queries and keys
/// of Llama and others to interleaved pairs. Frequencies are computed as by ggml: the factors of a
/// tensor divide before scaling, and YaRN's ramp is truncated. If ggml differs from a model's code
/// (Qwen3-VL's last pairs, Phi 3's window), the reader follows the model's code, and a note says
/// so.
///
/// Throws std::invalid_argument for what gguf_metadata refuses, an unknown rope.scaling.type, and
/// keys that are absent, of another type or out of range. The error names file, key and value. One
/// file of several is an error too, if the other files are not read. An unknown architecture is an
/// error unless unknown_model::as_llama is asked for, and so is a key that llama.cpp does not read
/// for it though its name speaks of positions, scale or mask.
#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
inline model_description read_gguf(std::filesystem::path const& first,
                                   gguf_options const& options = {});
#endif
/// Reads a stream from its current position on; `name` is the name of the file, for errors.
inline model_description read_gguf(std::istream& in, std::string name,
                                   gguf_options const& options = {});
/// Reads a header that was read already.
inline model_description read_gguf(gguf_metadata const& metadata, gguf_options const& options = {});

}}  // namespace posenc

#include "posenc/model/gguf/detail/reader.hpp"

namespace posenc { inline namespace POSENC_TARGET {

inline model_description read_gguf(gguf_metadata const& metadata, gguf_options const& options) {
  detail::error_context const context(metadata.file());
  detail::require_whole(metadata);
  detail::gguf_reader file(metadata, options.unknown, options.layout);
  file.config.note(detail::says_which_are_missing(metadata));
  file.config.note(detail::says_name_of_part(metadata));
  return read_layers(file);
}

inline model_description read_gguf(std::istream& in, std::string name,
                                   gguf_options const& options) {
  return read_gguf(gguf_metadata(in, std::move(name)), options);
}

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
inline model_description read_gguf(std::filesystem::path const& first,
                                   gguf_options const& options) {
  return read_gguf(read_gguf_metadata(first), options);
}
#endif

}}  // namespace posenc
