// How a model encodes positions, read from its config.json or GGUF file.
//
//     inspect_model config.json
//     inspect_model Llama-3.1-8B-Q4_K_M.gguf
//     inspect_model models/gpt-oss-20b.json --length 4096 --all-pairs
//     inspect_model novel.json --as-llama
#include <CLI/CLI.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "report.hpp"

namespace {

posenc::model_description read(std::filesystem::path const& file, bool as_llama) {
  std::string magic(4, '\0');
  std::ifstream(file, std::ios::binary).read(magic.data(), 4);
  using posenc::unknown_model;
  auto const unknown = as_llama ? unknown_model::as_llama : unknown_model::refused;
  return magic == "GGUF" ? posenc::read_gguf(file, {.unknown = unknown})
                         : posenc::read_hugging_face(file, {.unknown = unknown});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "How a model encodes positions, layer by layer: how it rotates queries and keys, what it "
      "adds to scores, how far it sees.");
  std::vector<std::string> files;
  std::optional<std::size_t> length;
  bool all_pairs = false, as_llama = false;
  app.add_option("FILE", files, "a config.json of Hugging Face, or a GGUF file")->required();
  app.add_option("--length", length,
                 "of the sequence, in tokens (default: the context of the model, or 4096)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32));
  app.add_flag("--all-pairs", all_pairs, "print every pair of a head rather than some");
  app.add_flag("--as-llama", as_llama,
               "take a file of an unknown model for Llama's, rather than refuse it");
  CLI11_PARSE(app, argc, argv);

  bool good = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      auto const model = read(files[i], as_llama);
      if (i != 0) std::cout << '\n';
      print(std::cout, std::filesystem::path(files[i]).filename().string(), model,
            {.length = length.value_or(model.context.value_or(4096)), .all_pairs = all_pairs});
    } catch (std::invalid_argument const& error) {
      std::cerr << error.what() << '\n';
      good = false;
    }
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "inspect_model: the output could not be written\n";
    return 1;
  }
  return good ? 0 : 1;
}
