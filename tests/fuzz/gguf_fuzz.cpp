// Any bytes as a GGUF file are read or refused with std::invalid_argument, and a stream gives the
// same as memory. What was read is written by write_gguf. Seeds are the headers of real models in
// tests/model/gguf/models.hpp, which this program writes into the first folder among its arguments
// if that is empty.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "check_model.hpp"
#include "model/gguf/models.hpp"
#include "must.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/gguf_writer.hpp"

namespace {

// What was read is written, or refused with a sentence; and what is written is written again.
void write(posenc::model_description const& model) {
  posenc::gguf_surroundings around{.heads = 4};
  for (auto const& kind : model.kinds)
    if (kind.alibi) around.heads = kind.alibi->heads;
  std::vector<std::byte> bytes;
  try {
    bytes = posenc::write_gguf(model, model.type, around).bytes();
  } catch (std::invalid_argument const& error) {
    return fuzz::must(std::string_view(error.what()).starts_with("posenc: "), "a foreign error");
  }
  auto const again = posenc::read_gguf(posenc::gguf_metadata(bytes, "written"));
  fuzz::must(posenc::write_gguf(again, again.type, around).bytes() == bytes,
             "what was written is written otherwise when it is read");
}

// The error, or an empty string.
std::string outcome(auto const& read) {
  try {
    auto const model = read();
    fuzz::check(model);
    if (model.layers <= 256) write(model);  // for the speed of runs
  } catch (std::invalid_argument const& error) {
    fuzz::must(std::string_view(error.what()).starts_with("posenc: m.gguf: "),
               "an error that does not name the file");
    return error.what();
  }
  return "";
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  namespace fs = std::filesystem;
  for (int i = 1; i < *argc; ++i) {
    fs::path const folder((*argv)[i]);
    if (!fs::is_directory(folder)) continue;
    if (!fs::is_empty(folder)) return 0;
    for (auto const& model : gguf_models::all)
      std::ofstream(folder / std::string(model.name), std::ios::binary) << model.file().str();
    return 0;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // The first byte of a file is G; a g stands for a file of an unknown model that is read as Llama.
  std::string file(reinterpret_cast<char const*>(data), size);
  posenc::gguf_options options;
  if (!file.empty() && file[0] == 'g') {
    file[0] = 'G';
    options.unknown = posenc::unknown_model::as_llama;
    if (size % 2 == 0) options.layout = posenc::halves();
  }
  auto const of_memory = outcome(
      [&] { return posenc::read_gguf(posenc::gguf_metadata(bytes_of(file), "m.gguf"), options); });
  std::istringstream stream(file);
  fuzz::must(outcome([&] { return posenc::read_gguf(stream, "m.gguf", options); }) == of_memory,
             "a stream gives another answer than memory");
  return 0;
}
