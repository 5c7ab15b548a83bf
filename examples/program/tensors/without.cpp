// What stands for safetensors.cpp where nlohmann-json is absent.
#include <stdexcept>

#include "posenc/model/gguf.hpp"
#include "program/tensors/weights.hpp"

namespace program {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error("this posenc was built without nlohmann-json, which reads safetensors");
}

}  // namespace

std::vector<weight> weights_of_safetensors(std::string const&, std::span<unsigned char const>) {
  refuse();
}

void weight_files::open_safetensors() { refuse(); }

posenc::model_description weight_files::description(bool as_llama) const {
  return posenc::read_gguf(gguf(), {.unknown = as_llama ? posenc::unknown_model::as_llama
                                                        : posenc::unknown_model::refused});
}

}  // namespace program
