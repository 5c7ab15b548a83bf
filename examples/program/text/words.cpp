#include <memory>
#include <stdexcept>

#include "program/text/vocabulary.hpp"

#ifdef POSENC_HAS_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

namespace program {

std::string pattern_named(std::string_view name) {
  // Contractions, letters, digits, other signs, spaces. [openai/gpt-2, src/encoder.py;
  // tokenizer.json of Llama 3 and of Qwen 2]
  auto const of_llama_3 = [](std::string const& digits) {
    return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" + digits +
           R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  };
  if (name == "gpt-2" || name == "default")
    return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  if (name == "llama-bpe" || name == "llama3" || name == "llama-v3") return of_llama_3("{1,3}");
  if (name == "qwen2" || name == "qwen35") return of_llama_3("");
  return {};
}

#ifdef POSENC_HAS_PCRE2
bool has_regular_expressions() { return true; }

std::vector<std::string_view> words_of(std::string_view text, std::string const& pattern) {
  int error = 0;
  PCRE2_SIZE where = 0;
  auto const free_code = [](pcre2_code* code) { pcre2_code_free(code); };
  std::unique_ptr<pcre2_code, decltype(free_code)> const code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP, &error, &where, nullptr));
  if (!code)
    throw std::runtime_error("the tokenizer's expression for words cannot be read at character " +
                             std::to_string(where));
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // where it can
  auto const free_match = [](pcre2_match_data* match) { pcre2_match_data_free(match); };
  std::unique_ptr<pcre2_match_data, decltype(free_match)> const match(
      pcre2_match_data_create_from_pattern(code.get(), nullptr));
  std::vector<std::string_view> words;
  auto const add = [&](std::size_t first, std::size_t last) {
    if (first < last) words.push_back(text.substr(first, last - first));
  };
  std::size_t done = 0;
  while (done < text.size()) {
    auto const found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                   text.size(), done, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      throw std::runtime_error("the tokenizer's expression for words gives up at byte " +
                               std::to_string(done) + ", PCRE2's error " + std::to_string(found));
    auto const* const at = pcre2_get_ovector_pointer(match.get());
    if (at[1] <= done) break;  // nothing: it would be found again
    add(done, at[0]), add(at[0], at[1]);
    done = at[1];
  }
  add(done, text.size());
  return words;
}
#else
bool has_regular_expressions() { return false; }

std::vector<std::string_view> words_of(std::string_view, std::string const&) {
  throw std::runtime_error("this posenc was built without PCRE2, which splits words");
}
#endif

}  // namespace program
