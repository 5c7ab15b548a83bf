#include <posenc/model/hugging_face.hpp>

int main() {
  auto const model = posenc::read_hugging_face(
      R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 256, "rope_theta": 500000})",
      "config.json");
  return model.kind_of(1).rotary.at(0).frequencies.at(1).pairs() == 32 ? 0 : 1;
}
