// Reads how a model encodes positions from a config.json or a GGUF file, whichever a file is.
// (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"

#if !defined(_LIBCPP_HAS_NO_FILESYSTEM_LIBRARY)
namespace posenc { inline namespace POSENC_TARGET {

/// Reads a file, once and from its beginning to its end: it may be a pipe. Throws as
/// read_hugging_face and read_gguf do.
///
///     auto const model = read_model("Llama-3.1-8B-Q4_K_M.gguf");
inline model_description read_model(std::filesystem::path const& file,
                                    unknown_model unknown = unknown_model::refused);

/// Whether the file of a stream is read as GGUF: by its name, or by the letter that comes next,
/// which stays in the stream, so that a pipe can be read. No JSON begins with a G.
inline bool is_gguf(std::istream& in, std::filesystem::path const& file) {
  return in.peek() == 'G' || file.extension() == ".gguf";
}

/// Reads a stream from its current position on, whose file is `file`.
inline model_description read_model(std::istream& in, std::filesystem::path const& file,
                                    unknown_model unknown = unknown_model::refused) {
  if (is_gguf(in, file)) return read_gguf(read_gguf_metadata(in, file), {.unknown = unknown});
  return read_hugging_face(in, file.filename().string(), {.unknown = unknown});
}

inline model_description read_model(std::filesystem::path const& file, unknown_model unknown) {
  auto in = detail::opened(file);
  return read_model(in, file, unknown);
}

}}  // namespace posenc
#endif
