// Any bytes as a GGUF file are read or refused with std::invalid_argument, and a stream gives the
// same as memory. What was read is what a second, plain reading of the keys finds. Seeds are the
// headers of real models in tests/model/gguf/models.hpp, which this program writes into the first
// folder among its arguments if that is empty.

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
#include "model/gguf/plain_reading.hpp"
#include "must.hpp"
#include "posenc/model/gguf.hpp"

namespace {

// All that is said in words and numbers, or the error.
std::string outcome(std::string const& file, auto const& read) {
  try {
    auto const model = read();
    fuzz::check(model);
    fuzz::must(contradiction(plain_gguf(file), model).empty(), "a second reading finds another");
    std::string told = model.type + std::to_string(model.layers) + model.embedding;
    for (auto const& kind : model.kinds) {
      told += kind.name + std::to_string(kind.head_dim) + std::to_string(kind.softmax_factor);
      for (auto const& rotary : kind.rotary) {
        told += rotary.rule;
        for (auto const& [key, value] : rotary.parameters) told.append(key).append(value);
        auto const frequencies = rotary.frequencies.at(1);
        for (auto const x : frequencies.inv_freq()) told += std::to_string(x);
      }
    }
    for (auto const* list : {&model.assumptions, &model.notes})
      for (auto const& sentence : *list) told += sentence;
    for (auto const* list : {&model.read, &model.assumed, &model.ignored})
      for (auto const& [key, value] : *list) told.append(key).append(value);
    return told;
  } catch (std::invalid_argument const& error) {
    fuzz::must(std::string_view(error.what()).starts_with("posenc: m.gguf: "),
               "an error that does not name the file");
    return error.what();
  }
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
  auto const of_memory = outcome(file, [&] {
    return posenc::read_gguf(posenc::gguf_metadata(bytes_of(file), "m.gguf"), options);
  });
  std::istringstream stream(file);
  auto const of_stream =
      outcome(file, [&] { return posenc::read_gguf(stream, "m.gguf", options); });
  fuzz::must(of_stream == of_memory, "a stream gives another answer than memory");
  return 0;
}
