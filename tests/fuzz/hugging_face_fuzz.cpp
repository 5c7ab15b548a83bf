// Any text as a config.json: it is read, or refused with std::invalid_argument; nothing else may happen. Seeds are the models' files, the
// dictionary is hugging_face.dict.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "posenc/model/hugging_face.hpp"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

// What a reader promises of its result.
void check(posenc::model_encoding const& model) {
  std::size_t layers = 0;
  for (auto const& kind : model.kinds) {
    layers += kind.layers.size();
    must(!kind.layers.empty());
    for (auto const& rotary : kind.rotary) {
      for (std::size_t const length : {std::size_t{1}, std::size_t{1} << 20}) {
        auto const f = rotary.frequencies.at(length);
        must(f.rotary_dim() <= kind.head_dim);
        must(rotary.block.first_dim(kind.head_dim, f.rotary_dim()) + f.rotary_dim() <= kind.head_dim);
        must(!rotary.axes || rotary.axes->pairs() == f.pairs());
      }
    }
  }
  must(layers == model.layers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  try {
    check(posenc::read_hugging_face(std::string_view(reinterpret_cast<char const*>(data), size), "config.json"));
  } catch (std::invalid_argument const& error) {
    must(std::string_view(error.what()).starts_with("posenc: config.json: "));
  }
  return 0;
}
