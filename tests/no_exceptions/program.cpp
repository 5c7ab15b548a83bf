// Compiled with -fno-exceptions -fno-rtti: the whole library compiles, works, and ends the program
// on an error.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <vector>

#include "every_header.hpp"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error compile this without exceptions and without rtti
#endif

namespace {

using namespace posenc;

int works() {
  std::vector<float> q(3 * 2 * 8, 1.0f), k = q, v = q;
  heads_shape const shape{.tokens = 3, .heads = 2, .head_dim = 8};
  heads_view const queries(q.data(), shape), keys(k.data(), shape), values(v.data(), shape);
  auto const result =
      attention(queries, keys, values,
                scheme{rope<halves>(geometric(8, 1e4)), alibi(2), adaptive_temperature{}});
  for (auto const x : result.outputs) {
    if (std::abs(x - 1) > 1e-6f)
      return std::printf("attention to ones gives %g\n", static_cast<double>(x)), 1;
  }
  std::vector<std::int64_t> const positions{0, 5, 1'000'000};
  rotate<halves>(queries, cos_sin_table(geometric(8, 1e4)).rows(positions));
  if (q[16 * 2] == 1.0f) return std::puts("nothing was rotated"), 1;
#if defined(WITH_JSON)
  auto const model = read_hugging_face(
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2})",
      "config.json");
  if (model.kinds.size() != 1) return std::puts("config.json was misread"), 1;
#endif
  return std::puts("works"), 0;
}

}  // namespace

int main(int, char** arguments) {
  std::string_view const what = arguments[1];
  if (what == "works") return works();
  if (what == "argument") return static_cast<int>(geometric(7, 1e4).pairs());
  if (what == "gguf") {
    std::istringstream none("no gguf");
    return static_cast<int>(read_gguf(none, "model.gguf").kinds.size());
  }
#if defined(WITH_JSON)
  if (what == "json")
    return static_cast<int>(read_hugging_face("{\"model_type\": ", "config.json").kinds.size());
  if (what == "rule") {
    return static_cast<int>(
        read_hugging_face(
            R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2,
      "rope_scaling": {"rope_type": "linear", "factor": -0.5}})",
            "config.json")
            .kinds.size());
  }
#endif
  return std::printf("no such case\n"), 1;
}
