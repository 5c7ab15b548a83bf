// From a text to the ids of a model's tokens, and back, by the vocabulary in the model's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/tensors/weights.hpp"

namespace program {

using token_ids = std::vector<std::uint32_t>;

/// A model's tokenizer: pairs of neighbours merge, the best first. Two kinds: by characters, with
/// U+2581 in the place of spaces (Llama 2, Gemma, Mistral); and by bytes within words that a
/// regular expression splits (GPT-2, Llama 3, Qwen 2), which needs PCRE2. Safe to share between
/// threads.
class tokenizer {
 public:
  /// By tokenizer.json of a folder, which needs nlohmann-json, or by the keys of a GGUF file.
  /// Throws std::runtime_error, which says that --ids takes ids, if there is none or if it is of a
  /// kind that is not known.
  explicit tokenizer(weight_files const& files);
  tokenizer(tokenizer&&) noexcept;
  tokenizer& operator=(tokenizer&&) noexcept;
  ~tokenizer();

  /// With the tokens that the model's settings add in front and behind. Throws std::runtime_error
  /// for a text that is not UTF-8; `name` is that of its file.
  token_ids encode(std::string_view text, std::string const& name = "the text") const;
  /// The text of a file.
  token_ids encode_file(std::string const& file) const;
  /// The text of ids; tokens that are no text (BOS and its like) are left out.
  std::string decode(std::span<std::uint32_t const> ids) const;
  /// Sentences that whoever reads a text should know.
  std::vector<std::string> const& notes() const;

 private:
  std::unique_ptr<struct vocabulary const> of_;
};

/// Ids from a file: whole numbers with spaces, commas, lines or brackets between them; or from the
/// standard input, for "-". Throws std::runtime_error for what is none, and for an id that is not
/// below `vocabulary`.
token_ids read_ids(std::string const& file, std::size_t vocabulary);

}  // namespace program
