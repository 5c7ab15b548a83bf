// What a tokenizer knows, as its file says it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/tensors/weights.hpp"

namespace program {

struct vocabulary {
  enum class kind { by_characters, by_bytes };

  kind of = kind::by_characters;
  std::string file;                 ///< that has it
  std::vector<std::string> tokens;  ///< by id; of bytes: as GPT-2 writes them
  std::unordered_map<std::string, std::uint32_t> ids = {};
  /// Which pairs merge: the smaller comes first. By rank, the pair as "left right"; or by score,
  /// the joined token.
  std::unordered_map<std::string, double> order = {};
  bool by_score = false;
  bool spaces_are_marked = true;  ///< by U+2581
  /// A space in front of the text and behind each special token; or at the beginning alone, or
  /// unless one is there.
  bool adds_space = true, only_at_beginning = false, unless_there = false;
  bool splits_at_spaces = false;  ///< by_characters: no token has a space behind another character
  bool joins_unknown = true;      ///< a run of unknown characters is one token
  bool composes = false;          ///< letters and marks, as Unicode's NFC does
  bool has_bytes = false;  ///< an unknown character becomes tokens like <0xE2>, if all are there
  bool takes_whole_words = false;  ///< a word that is a token is not merged (Llama 3)
  /// by_bytes: each splits the words of the one before, the first the text.
  std::vector<std::string> patterns = {};
  std::optional<std::uint32_t> unknown = {};
  std::vector<std::uint32_t> in_front = {}, behind = {};
  using by_text = std::map<std::string, std::uint32_t, std::greater<>>;
  by_text special = {};            ///< written in a text
  by_text special_marked = {};     ///< looked for when spaces are marked and one is added
  std::vector<bool> is_text = {};  ///< by id; false: decode leaves the token out
  std::vector<std::string> notes = {};

  /// by_characters: a text as its characters are looked up.
  std::string marked(std::string_view text, bool is_beginning) const;

  /// Throws std::runtime_error: the file, why, and that --ids takes ids.
  [[noreturn]] void refuse(std::string const& why) const {
    throw std::runtime_error(file + ": " + why + "; --ids FILE takes ids in place of a text");
  }
};

/// Each throws as tokenizer does.
vocabulary vocabulary_of_json(weight_files const& files, std::string const& text);
vocabulary vocabulary_of_gguf(weight_files const& files);

/// Words of a text: what the regular expression finds, and what is between. Throws
/// std::runtime_error without PCRE2, for an expression that it refuses, and where it gives up.
std::vector<std::string_view> words_of(std::string_view text, std::string const& pattern);
/// Whether this program has PCRE2.
bool has_regular_expressions();

/// What words of GPT-2, Llama 3 and Qwen 2 are; empty for another name.
std::string pattern_named(std::string_view name);

}  // namespace program
