// What the page calls: text in memory in, text in memory out. (WebAssembly)
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "explorer.hpp"

namespace {
std::string settings, answer;
std::vector<std::byte> file;
}

extern "C" {

/// The page's: shows the sentence and leaves the answer by a JavaScript exception.
[[noreturn, clang::import_module("page"), clang::import_name("refuse")]] void page_refuse(
    char const* sentence);

[[noreturn]] void posenc_on_error(char const* sentence) {
  page_refuse(explorer::plain(sentence).c_str());
}

/// Where the page writes so many bytes of settings.
[[clang::export_name("settings")]] char* settings_of(std::size_t size) {
  settings.assign(size, ' ');
  return settings.data();
}

/// Where the page writes so many bytes of the beginning of a GGUF file.
[[clang::export_name("file")]] std::byte* file_of(std::size_t size) {
  file.assign(size, std::byte(0));
  return file.data();
}

/// The answer to these settings, ended by 0.
[[clang::export_name("answer")]] char const* answer_to_settings() {
  answer = explorer::answer(settings, file);
  return answer.c_str();
}
}

void explorer::refuse(std::string const& sentence) { page_refuse(sentence.c_str()); }
