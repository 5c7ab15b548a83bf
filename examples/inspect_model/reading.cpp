#include "reading.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"

namespace {

std::ifstream opened(std::string const& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    auto const inside = std::filesystem::path(file) / "config.json";
    bool const has_config = std::filesystem::is_regular_file(inside, ignored);
    throw std::runtime_error(file + ": is a directory" +
                             (has_config ? "; give " + inside.string() : std::string()));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": cannot be read: " + std::strerror(errno));
  return in;
}

bool is_gguf(std::istream& in) {
  std::string magic(4, '\0');
  in.read(magic.data(), 4);
  in.clear(), in.seekg(0);
  return magic == "GGUF";
}

}  // namespace

posenc::model_description read_model(std::string const& file, bool as_llama) {
  auto in = opened(file);
  using posenc::unknown_model;
  auto const unknown = as_llama ? unknown_model::as_llama : unknown_model::refused;
  // What only has the name of a GGUF file is told by its letters, not as bad JSON.
  bool const by_name = std::filesystem::path(file).extension() == ".gguf";
  try {
    return by_name || is_gguf(in)
               ? posenc::read_gguf(file, {.unknown = unknown})
               : posenc::read_hugging_face(std::filesystem::path(file), {.unknown = unknown});
  } catch (std::invalid_argument const& error) {  // which speaks to C++
    std::string sentence = error.what();
    constexpr std::string_view hint = "unknown_model::as_llama is asked for";
    if (auto const at = sentence.find(hint); at != sentence.npos)
      sentence.replace(at, hint.size(), "--as-llama is given");
    throw std::invalid_argument(sentence);
  }
}
