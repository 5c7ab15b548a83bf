#include "engines.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace angles {

namespace {

row posenc_row(setting const& s, std::int64_t position) {
  posenc::cos_sin_rows const rows(posenc::geometric(s.head_dim, s.base), std::array{position});
  return {{rows.cos(0).begin(), rows.cos(0).end()}, {rows.sin(0).begin(), rows.sin(0).end()}};
}

// [modeling_llama.py, LlamaRotaryEmbedding; vLLM's rotary_embedding/base.py; ONNX Runtime
// GenAI's builder, make_rotary_embedding_caches_from_scratch]
row float_angles(setting const& s, std::int64_t position) {
  row result;
  for (std::size_t i = 0; i < s.head_dim; i += 2) {
    auto const exponent = static_cast<float>(i) / static_cast<float>(s.head_dim);
    float const volatile inv_freq = 1 / std::pow(static_cast<float>(s.base), exponent);
    float const volatile angle = static_cast<float>(position) * inv_freq;
    result.cos.push_back(std::cos(angle)), result.sin.push_back(std::sin(angle));
  }
  return result;
}

// [modeling_llama.py, cos.to(dtype=x.dtype); vLLM's cos_sin_cache]
row bfloat16_table(setting const& s, std::int64_t position) {
  auto result = float_angles(s, position);
  for (auto* const numbers : {&result.cos, &result.sin})
    for (auto& x : *numbers) x = static_cast<float>(posenc::bfloat16(x));
  return result;
}

// [ggml-cpu's ops.cpp, ggml_rope_cache_init]
row recurrence(setting const& s, std::int64_t position) {
  row result;
  float const scale = std::pow(static_cast<float>(s.base), -2.0f / static_cast<float>(s.head_dim));
  float volatile angle = static_cast<float>(position);
  for (std::size_t i = 0; i < s.head_dim; i += 2) {
    result.cos.push_back(std::cos(angle)), result.sin.push_back(std::sin(angle));
    angle = angle * scale;
  }
  return result;
}

// base^(-2i / d) and angles in long double: 64 bits on x86, of which an angle of a million radians
// leaves 44 behind the point.
struct exact_row {
  std::vector<long double> cos, sin;
};
exact_row exact(setting const& s, std::int64_t position) {
  exact_row result;
  for (std::size_t i = 0; i < s.head_dim; i += 2) {
    auto const exponent = -static_cast<long double>(i) / static_cast<long double>(s.head_dim);
    auto const angle =
        static_cast<long double>(position) * std::pow(static_cast<long double>(s.base), exponent);
    result.cos.push_back(std::cos(angle)), result.sin.push_back(std::sin(angle));
  }
  return result;
}

}  // namespace

std::vector<engine> const& engines() {
  static std::vector<engine> const all{
      {"posenc", "angles in integers, reduced before they become floats", posenc_row},
      {"Hugging Face, vLLM",
       "angles are float(position) times float(inv_freq); so in ONNX Runtime GenAI", float_angles},
      {"the same, in bfloat16",
       "the same angles, and cosines and sines rounded to the type of a bfloat16 model",
       bfloat16_table},
      {"ggml on CPUs", "each pair's angle is a float times the angle of the pair before",
       recurrence}};
  return all;
}

errors errors_between(engine const& e, setting const& s, std::int64_t first, std::int64_t last) {
  errors worst;
  for (auto position = first; position <= last; ++position) {
    auto const actual = e.at(s, position);
    auto const wanted = exact(s, position);
    double squares = 0, largest = 0;
    for (std::size_t i = 0; i < wanted.cos.size(); ++i) {
      auto const d_cos = static_cast<double>(actual.cos[i] - wanted.cos[i]),
                 d_sin = static_cast<double>(actual.sin[i] - wanted.sin[i]);
      worst.angle = std::max({worst.angle, std::abs(d_cos), std::abs(d_sin)});
      squares += d_cos * d_cos + d_sin * d_sin;
      largest = std::max(largest, std::hypot(d_cos, d_sin));
    }
    worst.weight = std::max(worst.weight, std::expm1(2 * 10 * largest));
    worst.score =
        std::max(worst.score, std::sqrt(squares / static_cast<double>(wanted.cos.size())));
  }
  return worst;
}

}  // namespace angles
