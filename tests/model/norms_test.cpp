// From a model's settings to a normed and rotated head, held against each model's own formula in
// double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "posenc/model/layer_scheme.hpp"
#include "posenc/model/rotate.hpp"
#include "posenc/rotation/rotate.hpp"
#include "rejects.hpp"
#include "site_2.hpp"

namespace {
namespace of_norms {

using namespace posenc;
using gguf_models::common;
using head = std::vector<double>;

// The oracle: what the classes of the models say, one number after another.

/// x / sqrt(mean(x^2) + eps), times weights if there are any.
head rms(head x, double eps, head const& weights = {}, double plus = 0) {
  double sum = 0;
  for (auto const n : x) sum += n * n;
  auto const root = std::sqrt(sum / static_cast<double>(x.size()) + eps);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = x[i] / root * (weights.empty() ? 1 : weights[i] + plus);
  return x;
}
/// (x1, x2) -> (x1 c - x2 s, x2 c + x1 s), of halves or of neighbours; sign -1: the other way.
head rotated_by(head const& x, std::vector<double> const& inv_freq, std::int64_t position,
                bool neighbours = false, double sign = 1) {
  auto y = x;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    auto const first = neighbours ? 2 * i : i, second = neighbours ? first + 1 : i + x.size() / 2;
    auto const angle = sign * static_cast<double>(position) * inv_freq[i];
    y[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
    y[second] = x[second] * std::cos(angle) + x[first] * std::sin(angle);
  }
  return y;
}

struct model_case {
  std::string name;
  std::function<model_description()> read;
  std::size_t layer;
  /// What the model makes of a head, by the weights of its norm if it has one.
  std::function<head(head const& x, std::int64_t position, head const& weights)> oracle;
};
void PrintTo(model_case const& one, std::ostream* out) { *out << one.name; }

std::function<model_description()> config(std::string const& text) {
  return [=] { return read_hugging_face(text, "config.json"); };
}
std::function<model_description()> gguf(gguf_writer const& writer) {
  return [file = writer.str()] {
    return read_gguf(gguf_metadata(std::as_bytes(std::span(file)), "m.gguf"));
  };
}
/// With the tensors of the norms of its layers.
gguf_writer with_norms(gguf_writer writer, std::size_t layers, std::uint64_t weights) {
  for (std::size_t i = 0; i < layers; ++i)
    for (auto const* const name : {".attn_q_norm.weight", ".attn_k_norm.weight"})
      writer.tensor("blk." + std::to_string(i) + name, {weights}, 0, std::uint64_t{0});
  return writer;
}

auto const& llama4_text = R"({"model_type": "llama4_text", "num_hidden_layers": 4, "head_dim": 128,
    "num_attention_heads": 40, "num_key_value_heads": 8, "hidden_size": 5120,
    "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "max_position_embeddings": 10485760,
    "use_qk_norm": true, "attn_temperature_tuning": 4, "attention_chunk_size": 8192,
    "rope_scaling": {"factor": 16.0, "high_freq_factor": 1.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192, "rope_type": "llama3"}})";
auto const& gemma3_text = R"({"model_type": "gemma3_text", "num_hidden_layers": 6,
    "head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size": 2560,
    "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "rope_theta": 1000000.0,
    "sliding_window": 1024, "sliding_window_pattern": 6, "max_position_embeddings": 131072})";

std::vector<model_case> all_cases() {
  return {
      // [modeling_qwen3.py, Qwen3Attention]
      {"Qwen 3",
       config(R"({"model_type": "qwen3", "num_hidden_layers": 36, "num_attention_heads": 32,
           "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 4096, "rms_norm_eps": 1e-06,
           "rope_theta": 1000000, "rope_scaling": null, "max_position_embeddings": 40960})"),
       3,
       [](head const& x, std::int64_t p, head const& w) {
         return rotated_by(rms(x, 1e-6, w), oracle::default_rule(128, 1e6), p);
       }},
      // [modeling_gemma3.py, Gemma3RMSNorm and Gemma3Attention]
      {"Gemma 3, local", config(gemma3_text), 0,
       [](head const& x, std::int64_t p, head const& w) {
         return rotated_by(rms(x, 1e-6, w, 1), oracle::default_rule(256, 1e4), p);
       }},
      {"Gemma 3, global", config(gemma3_text), 5,
       [](head const& x, std::int64_t p, head const& w) {
         return rotated_by(rms(x, 1e-6, w, 1),
                           oracle::linear_rule(oracle::default_rule(256, 1e6), 8), p);
       }},
      // [modeling_hunyuan_v1_dense.py, HunYuanDenseV1Attention and -RotaryEmbedding]
      {"HunYuan", config(R"({"model_type": "hunyuan_v1_dense", "num_hidden_layers": 32,
           "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
           "hidden_size": 4096, "rms_norm_eps": 1e-05, "use_qk_norm": true,
           "rope_theta": 10000.0, "max_position_embeddings": 262144,
           "rope_scaling": {"alpha": 1000.0, "factor": 1.0, "type": "dynamic"}})"),
       31,
       [](head const& x, std::int64_t p, head const& w) {
         return rms(rotated_by(x, oracle::ntk_rule(128, 1e4, 1000), p), 1e-5, w);
       }},
      // [modeling_llama4.py, Llama4TextL2Norm, apply_rotary_emb and Llama4TextAttention]
      {"Llama 4", config(llama4_text), 0,
       [](head const& x, std::int64_t p, head const&) {
         auto const f = oracle::llama3_rule(oracle::default_rule(128, 5e5), 16, 1, 1, 8192);
         return rms(rotated_by(x, f, p, true), 1e-5);
       }},
      // [modeling_nanochat.py, rotate_half and NanoChatAttention]
      {"nanochat",
       config(R"({"model_type": "nanochat", "num_hidden_layers": 32, "num_attention_heads": 16,
           "num_key_value_heads": 16, "hidden_size": 2048, "rms_norm_eps": 1e-06,
           "max_position_embeddings": 2048, "final_logit_softcapping": 15.0,
           "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})"),
       7,
       [](head const& x, std::int64_t p, head const&) {
         return rms(rotated_by(x, oracle::default_rule(128, 1e4), p, false, -1), 1e-6);
       }},
      // [llama.cpp, src/models/qwen3.cpp]
      {"Qwen 3, GGUF",
       gguf(with_norms(common("qwen3", {2, 40960, 4096, 32, 8}), 2, 128)
                .set("qwen3.attention.key_length", std::uint32_t{128})
                .set("qwen3.rope.freq_base", 1e6f)),
       1,
       [](head const& x, std::int64_t p, head const& w) {
         return rotated_by(rms(x, 1e-5, w), oracle::default_rule(128, 1e6), p);
       }},
      // [llama.cpp, src/models/gemma3.cpp]: the converter has added 1 to the weights.
      {"Gemma 3, GGUF",
       gguf(with_norms(common("gemma3", {6, 131072, 2560, 8, 4}), 6, 256)
                .set("gemma3.attention.key_length", std::uint32_t{256})
                .set("gemma3.attention.sliding_window", std::uint32_t{1024})
                .set("gemma3.rope.freq_base", 1e6f)
                .set("gemma3.rope.scaling.type", "linear")
                .set("gemma3.rope.scaling.factor", 8.0f)),
       5,
       [](head const& x, std::int64_t p, head const& w) {
         return rotated_by(rms(x, 1e-5, w), oracle::linear_rule(oracle::default_rule(256, 1e6), 8),
                           p);
       }},
      // [llama.cpp, src/models/hunyuan-dense.cpp]
      {"HunYuan, GGUF",
       gguf(with_norms(common("hunyuan-dense", {2, 262144, 4096, 32, 8}), 2, 128)
                .set("hunyuan-dense.attention.key_length", std::uint32_t{128})
                .set("hunyuan-dense.rope.freq_base", 11158840.0f)),
       0,
       [](head const& x, std::int64_t p, head const& w) {
         return rms(rotated_by(x, oracle::default_rule(128, 11158840), p), 1e-5, w);
       }},
  };
}

struct norms : testing::TestWithParam<model_case> {};
INSTANTIATE_TEST_SUITE_P(models, norms, testing::ValuesIn(all_cases()));

TEST_P(norms, lead_from_the_settings_to_the_head_that_the_model_has) {
  auto const& one = GetParam();
  auto const model = one.read();
  auto const& layer = model.kind_of(one.layer);
  auto const dim = layer.head_dim;
  std::vector<std::int64_t> const positions{0, 1, 1000, 131'071};
  auto const rows = rows_of(layer.rotary.at(0), 131'072, positions);
  for (auto const* const norm : {&layer.query_norm, &layer.key_norm}) {
    auto const x = numbers::random<float>(positions.size() * 2 * dim);
    std::vector<float> weights(norm->weights);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = 0.5f + std::sin(static_cast<float>(i));
    auto y = x;
    heads_view const heads(y.data(), {positions.size(), 2, dim});
    std::visit(
        [&]<class Layout>(Layout) {
          rotate(rows, rotated<Layout>(heads)
                           .norm(head_norm_of(*norm, std::span<float const>(weights)))
                           .block(layer.rotary[0].block));
        },
        layer.rotary[0].layout);
    for (std::size_t i = 0; i < positions.size() * 2; ++i) {
      auto const part = std::span(x).subspan(i * dim, dim);
      auto const expected = one.oracle(head(part.begin(), part.end()), positions[i / 2],
                                       head(weights.begin(), weights.end()));
      auto const largest =
          std::abs(*std::ranges::max_element(expected, {}, [](double a) { return std::abs(a); }));
      // The sum of squares in at least 4 lanes, and 8 roundings more, of a pair that may be longer
      // than each of its dims.
      auto const bound = (static_cast<double>(dim) / 8 + 8) * 0x1p-24 * std::sqrt(2.0) * largest;
      for (std::size_t d = 0; d < dim; ++d)
        EXPECT_NEAR(y[i * dim + d], expected[d], bound) << "head " << i << ", dim " << d;
    }
  }
}

// head_norm_of.

std::string refused(norm_description const& norm, std::size_t weights) {
  std::vector<float> const w(weights);
  return message_of([&] { (void)head_norm_of(norm, std::span<float const>(w)); });
}

TEST(head_norm_of, takes_weights_of_any_type) {
  norm_description const norm{.of = norm_scope::head,
                              .how = {.eps = 1e-5f, .place = norm_place::after, .plus_one = true},
                              .weights = 3};
  std::vector<bfloat16> const w(3);
  auto const made = head_norm_of<bfloat16>(norm, w);
  EXPECT_EQ(made.weight.data(), w.data());
  EXPECT_EQ(made.weight.size(), 3u);
  EXPECT_EQ(made.eps, 1e-5f);
  EXPECT_EQ(made.place, norm_place::after);
  EXPECT_TRUE(made.plus_one);
}

TEST(head_norm_of, refuses_what_a_head_norm_is_not) {
  std::string const must =
      "posenc: head_norm_of: the norm must be of each head for itself, with eps and with weights "
      "that all heads share, got ";
  EXPECT_EQ(refused({}, 0), must + "one that is not known");
  EXPECT_EQ(refused({.of = norm_scope::none}, 0), must + "none");
  EXPECT_EQ(refused({.of = norm_scope::head, .how = {.eps = 0}}, 0), must + "one without eps");
  EXPECT_EQ(refused({.of = norm_scope::own_weights}, 0), must + "one with weights for each head");
  EXPECT_EQ(refused({.of = norm_scope::token}, 0), must + "one over all heads of a token");
  EXPECT_EQ(refused({.of = norm_scope::centred}, 0), must + "one that subtracts the mean");
  norm_description const norm{.of = norm_scope::head, .weights = 128};
  EXPECT_EQ(refused(norm, 64), "posenc: head_norm_of: there must be 128 weights, got 64");
  EXPECT_EQ(refused(norm, 0), "posenc: head_norm_of: there must be 128 weights, got 0");
  std::vector<float> const weights(128);
  EXPECT_NO_THROW(head_norm_of(norm, std::span<float const>(weights)));
}

// The opposite angle.

TEST(opposite_angle, is_what_the_layer_does_as_an_encoding_and_pair_by_pair) {
  auto const rotation = [](bool opposite) {
    return rotary_description{.rule = "default",
                              .frequencies = geometric(8, 100.0),
                              .layout = halves(),
                              .opposite = opposite};
  };
  std::vector<std::int64_t> const positions{0, 5, -70}, negated{0, -5, 70};
  auto const x = numbers::random<float>(3 * 2 * 8);
  auto one = x, two = x;
  layer_description const layer{.name = "x", .head_dim = 8, .rotary = {rotation(true)}};
  site_2::encode_queries(layer_scheme(layer, 1), numbers::view(one, 3, 8), positions);
  site_2::encode_queries(rope<halves>(geometric(8, 100.0)), numbers::view(two, 3, 8), negated);
  EXPECT_TRUE(numbers::same_bits(one, two));
  auto three = x;
  posenc::rotate(layer.rotary[0], heads_view(three.data(), {3, 2, 8}),
                 rows_of(layer.rotary[0], 1, positions));
  EXPECT_TRUE(numbers::same_bits(one, three));
  EXPECT_EQ(dims_of_pair(rotation(true), 8, 1), (pair_dims{5, 1}));
  EXPECT_EQ(dims_of_pair(rotation(false), 8, 1), (pair_dims{1, 5}));
}

// -2^63 has no opposite among positions: the opposite rotation of (x, y) is the rotation of (y, x).
TEST(opposite_angle, is_that_of_the_least_position_too) {
  auto const f = geometric(8, 100.0);
  layer_description const layer{
      .name = "x",
      .head_dim = 8,
      .rotary = {{.rule = "default", .frequencies = f, .layout = interleaved(), .opposite = true}}};
  auto const x = numbers::random<float>(2 * 8);
  auto one = x, two = x;
  std::vector<std::int64_t> const least{std::numeric_limits<std::int64_t>::min()};
  auto const swap_pairs = [&] {
    for (std::size_t i = 0; i < two.size(); i += 2) std::swap(two[i], two[i + 1]);
  };
  site_2::encode_queries(layer_scheme(layer, 1), numbers::view(one, 1, 8), least);
  swap_pairs();
  site_2::encode_queries(rope<interleaved>(f), numbers::view(two, 1, 8), least);
  swap_pairs();
  // Two products and their sum, of numbers below 4, are rounded in another order.
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(one[i], two[i], 3 * 4 * 0x1p-24) << i;
}

}  // namespace of_norms
}  // namespace
