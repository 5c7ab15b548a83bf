#include "posenc/model/gguf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "golden/models.hpp"
#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "rejects.hpp"

namespace gguf_models {

void PrintTo(model const& m, std::ostream* out) { *out << m.name; }

}  // namespace gguf_models

namespace {
namespace of_gguf {

using namespace posenc;
using std::uint32_t;

model_description read(gguf_writer const& file, gguf_options const& options = {}) {
  auto const bytes = file.str();
  return read_gguf(gguf_metadata(bytes_of(bytes), "m.gguf"), options);
}
layer_description only_kind(gguf_writer const& file) {
  auto const model = read(file);
  EXPECT_EQ(model.kinds.size(), 1u);
  return model.kinds.front();
}
std::vector<double> inv_freq(layer_description const& kind, std::size_t length = 1) {
  auto const f = kind.rotary.at(0).frequencies.at(length);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
double attention_factor(layer_description const& kind) {
  return kind.rotary.at(0).frequencies.at(1).attention_factor();
}

std::string refusal(gguf_writer const& file) {
  return message_of([&] { read(file); });
}
bool mentions(std::vector<std::string> const& sentences, std::string const& part) {
  return std::ranges::any_of(
      sentences, [&](auto const& sentence) { return sentence.find(part) != std::string::npos; });
}

/// A number in the file is an f32, with a relative error of 2^-24; a product of two has twice that.
/// The errors of f64 are far below.
constexpr double of_float = 0x1p-23;

void expect_near(double actual, double expected, double relative, std::string const& what) {
  EXPECT_NEAR(actual, expected, relative * std::abs(expected)) << what;
}
void expect_near(std::vector<double> const& actual, std::vector<double> const& expected,
                 double relative) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    expect_near(actual[i], expected[i], relative, "pair " + std::to_string(i));
}

/// A small model with no key about positions.
gguf_writer small(std::string const& name = "llama", uint32_t layers = 2) {
  return gguf_models::common(name, {layers, 8192, 256, 4, 4});
}

// Real models: the same settings give the same description as from a config.json, except for what
// converters change.

class gguf_files : public testing::TestWithParam<gguf_models::model> {
 protected:
  static golden::model const& expected() {
    return *std::ranges::find(golden::models, GetParam().name, &golden::model::name);
  }
  static void each_kind(auto const& check) {
    auto const encoding = read(GetParam().file());
    std::set<char> seen;
    for (std::size_t layer = 0; layer < expected().layers; ++layer) {
      auto const& must = expected().kind_of(layer);
      if (!seen.insert(must.letter).second) continue;
      SCOPED_TRACE("layer " + std::to_string(layer));
      check(encoding.kind_of(layer), must);
    }
    EXPECT_EQ(encoding.kinds.size(), seen.size());
  }
};

TEST_P(gguf_files, have_each_layer_of_its_kind) {
  auto const encoding = read(GetParam().file());
  ASSERT_EQ(encoding.layers, expected().layers);
  for (std::size_t layer = 0; layer < encoding.layers; ++layer) {
    for (std::size_t before = 0; before < layer; ++before) {
      bool const same = &encoding.kind_of(layer) == &encoding.kind_of(before);
      ASSERT_EQ(same, expected().kind_of(layer).letter == expected().kind_of(before).letter)
          << "layers " << before << " and " << layer;
    }
  }
}

TEST_P(gguf_files, have_the_frequencies_of_their_settings) {
  each_kind([](layer_description const& kind, golden::layer_kind const& must) {
    ASSERT_EQ(kind.rotary.size(), must.rotary ? 1u : 0u);
    if (!must.rotary) return;
    auto const trained = static_cast<std::size_t>(must.rotary->trained);
    // ggml always truncates YaRN's ramp: see gpt_oss_ramps_are_truncated.
    bool const is_truncated = must.rotary->truncate;
    bool const is_longrope = must.rotary->rule == golden::rope_rule::longrope;
    for (bool const beyond : {false, true}) {
      auto const f = kind.rotary[0].frequencies.at(trained + (beyond ? 1 : 0));
      ASSERT_EQ(f.pairs(), must.rotary->rotary_dim / 2);
      for (auto const& [pair, value] :
           beyond&& is_longrope ? must.rotary->long_values : must.rotary->values) {
        if (is_truncated)
          expect_near(f.inv_freq()[pair], value, of_float, "golden pair " + std::to_string(pair));
      }
      expect_near(f.attention_factor(), must.rotary->attention_factor, of_float,
                  "attention factor");
    }
    EXPECT_EQ(kind.rotary[0].frequencies.depends_on_length(), is_longrope);
  });
}

TEST_P(gguf_files, rotate_the_pairs_that_llama_cpp_rotates) {
  each_kind([](layer_description const& kind, golden::layer_kind const& must) {
    EXPECT_EQ(kind.head_dim, must.head_dim);
    if (!must.rotary) return;
    auto const& rotary = kind.rotary.at(0);
    EXPECT_EQ(std::holds_alternative<interleaved>(rotary.layout), GetParam().interleaved);
    auto const first = must.rotary->last ? must.head_dim - must.rotary->rotary_dim : 0;
    EXPECT_EQ(rotary.block.first_dim(kind.head_dim, must.rotary->rotary_dim), first);
    auto const& sections = must.rotary->sections;
    ASSERT_EQ(rotary.axes.has_value(), sections[0] != 0);
    if (!rotary.axes) return;
    EXPECT_EQ(*rotary.axes, must.rotary->interleaved_axes ? interleaved_axes(sections)
                                                          : contiguous_axes(sections));
  });
}

TEST_P(gguf_files, scale_scores_as_their_code_does) {
  each_kind([](layer_description const& kind, golden::layer_kind const& must) {
    // (1 + 10 * 0.1f * mscale * ...)^2: at most four roundings to f32.
    expect_near(kind.softmax_factor, must.softmax_factor, 4 * of_float, "softmax factor");
    ASSERT_EQ(kind.temperature.has_value(), must.temperature.has_value());
    if (!kind.temperature) return;
    expect_near(kind.temperature->scale, must.temperature->scale, of_float, "temperature");
    EXPECT_EQ(kind.temperature->floor_scale, must.temperature->floor_scale);
    EXPECT_EQ(kind.temperature->offset, must.temperature->offset);
  });
}

TEST_P(gguf_files, see_and_add_what_their_code_sees_and_adds) {
  each_kind([](layer_description const& kind, golden::layer_kind const& must) {
    EXPECT_EQ(kind.window.value_or(0), must.window);
    EXPECT_EQ(kind.chunk.value_or(0), must.chunk);
    EXPECT_EQ(kind.sinks, must.sinks);
    EXPECT_FALSE(kind.score_cap.has_value());
    EXPECT_EQ(kind.alibi ? kind.alibi->heads : 0, must.alibi_heads);
    EXPECT_EQ(kind.alibi ? kind.alibi->max_bias : 8, 8);
    EXPECT_EQ(kind.buckets ? kind.buckets->buckets : 0, must.buckets);
    EXPECT_EQ(kind.buckets ? kind.buckets->max_distance : 0, must.bucket_distance);
  });
}

INSTANTIATE_TEST_SUITE_P(real, gguf_files, testing::ValuesIn(gguf_models::all),
                         [](auto const& tested) {
                           std::string name(tested.param.name);
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(gguf, gpt_oss_ramps_are_truncated) {
  // Pairs 9, 12 and 17 as of ggml's formula, ramp 8 to 18; untruncated, pair 17 is 1.29e-4.
  auto const f = inv_freq(read(gguf_models::gpt_oss_20b()).kinds[0]);
  expect_near(f, oracle::yarn_rule(64, 1.5e5, 32, 4096), 1e-14);
  expect_near(f[9], 0.0316207523, 1e-8, "pair 9");
  expect_near(f[12], 0.00701571391, 1e-8, "pair 12");
  expect_near(f[17], 2.27947796e-4, 1e-8, "pair 17");
}

TEST(gguf, reads_a_file_and_a_stream_as_it_reads_memory) {
  auto const bytes = gguf_models::llama_3_1_8b().str();
  std::istringstream stream(bytes);
  auto const of_stream = read_gguf(stream, "m.gguf");
  auto const path = std::filesystem::temp_directory_path() / "posenc_gguf_test.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  auto const of_file = read_gguf(path);
  std::filesystem::remove(path);
  for (auto const& model : {of_stream, of_file}) {
    EXPECT_EQ(model.type, "llama");
    EXPECT_EQ(model.context, 131072u);
    EXPECT_EQ(inv_freq(model.kinds[0]), inv_freq(only_kind(gguf_models::llama_3_1_8b())));
    EXPECT_TRUE(model.assumptions.empty());
    EXPECT_TRUE(model.notes.empty());
  }
  EXPECT_TRUE(message_of([&] {
                read_gguf(path);
              }).ends_with("posenc_gguf_test.gguf: must be a file that can be read"));
  EXPECT_TRUE(message_of([&] {
                read_gguf(path.parent_path());
              }).ends_with(": must be a file that can be read"));
}

// Frequencies.

TEST(gguf, has_base_10000_and_rotates_the_whole_head_by_default) {
  auto const model = read(small());
  expect_near(inv_freq(model.kinds[0]), oracle::default_rule(64, 1e4), 1e-14);
  EXPECT_EQ(model.kinds[0].rotary[0].rule, "default");
  EXPECT_EQ(model.assumptions,
            std::vector<std::string>{
                "llama.rope.freq_base is not given: 10000, as llama.cpp has it for llama."});
}

TEST(gguf, reads_linear_scaling_under_its_old_and_new_name) {
  auto const expected = oracle::linear_rule(oracle::default_rule(64, 1e4), 4);
  auto const typed =
      small().set("llama.rope.scaling.type", "linear").set("llama.rope.scaling.factor", 4.0f);
  auto const untyped = small().set("llama.rope.scaling.factor", 4.0f),
             old = small().set("llama.rope.scale_linear", 4.0f);
  for (auto const& file : {typed, untyped, old}) {
    expect_near(inv_freq(only_kind(file)), expected, 1e-14);
    EXPECT_EQ(only_kind(file).rotary[0].rule, "linear");
  }
  EXPECT_FALSE(mentions(read(typed).assumptions, "rope.scaling.type"));
  EXPECT_TRUE(mentions(read(untyped).assumptions,
                       "llama.rope.scaling.type is not given: linear, as llama.cpp has it."));
  EXPECT_TRUE(mentions(read(old).assumptions,
                       "llama.rope.scaling.type is not given: linear, as llama.cpp has it."));
  auto const none =
      small().set("llama.rope.scaling.type", "none").set("llama.rope.scaling.factor", 4.0f);
  expect_near(inv_freq(only_kind(none)), oracle::default_rule(64, 1e4), 1e-14);
  expect_near(inv_freq(only_kind(small().set("llama.rope.scaling.factor", 0.0f))),
              oracle::default_rule(64, 1e4), 1e-14);
}

TEST(gguf, reads_factors_below_1) {
  auto const linear = only_kind(small().set("llama.rope.scaling.factor", 0.5f));
  expect_near(inv_freq(linear), oracle::linear_rule(oracle::default_rule(64, 1e4), 0.5L), 1e-14);
  // get_mscale of llama_context is 1 there, and cancels ggml's 1 + 0.1 ln(factor).
  auto const yarn = only_kind(
      small().set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 0.5f));
  expect_near(inv_freq(yarn), oracle::yarn_rule(64, 1e4, 0.5L, 8192), 1e-14);
  EXPECT_EQ(attention_factor(yarn), 1);
}

TEST(gguf, factors_of_a_tensor_divide_beside_other_rules) {
  std::vector<float> divisors(32, 1.0f);
  divisors[3] = 2.5f, divisors[31] = 1e30f;
  std::vector<double> const as_numbers(divisors.begin(), divisors.end());
  auto const linear =
      small().set("llama.rope.scaling.factor", 4.0f).tensor("rope_freqs.weight", divisors);
  auto expected =
      oracle::linear_rule(oracle::per_pair_rule(oracle::default_rule(64, 1e4), as_numbers), 4);
  expected[31] = 0;
  expect_near(inv_freq(only_kind(linear)), expected, 1e-14);
  EXPECT_EQ(only_kind(linear).rotary[0].rule, "linear");
  EXPECT_TRUE(only_kind(linear).rotary[0].has_pair_factors);
  auto yarn = small().set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 4.0f);
  yarn.set("llama.rope.scaling.original_context_length", uint32_t{2048})
      .tensor("rope_freqs.weight", divisors);
  expected = oracle::per_pair_rule(oracle::yarn_rule(64, 1e4, 4, 2048), as_numbers);
  expected[31] = 0;
  expect_near(inv_freq(only_kind(yarn)), expected, 1e-14);
  EXPECT_EQ(only_kind(yarn).rotary[0].rule, "yarn");
  EXPECT_TRUE(only_kind(yarn).rotary[0].has_pair_factors);
}

gguf_writer yarn(std::string const& name = "llama") {
  return small(name)
      .set(name + ".rope.scaling.type", "yarn")
      .set(name + ".rope.scaling.factor", 4.0f);
}

TEST(gguf, reads_yarn) {
  auto const plain = read(yarn());
  expect_near(inv_freq(plain.kinds[0]), oracle::yarn_rule(64, 1e4, 4, 8192), 1e-14);
  EXPECT_TRUE(
      mentions(plain.assumptions,
               "llama.rope.scaling.original_context_length is not given: context_length, 8192"));
  auto const magnitude = static_cast<double>(oracle::yarn_mscale(4));
  expect_near(attention_factor(plain.kinds[0]), magnitude, 1e-15, "A");
  expect_near(attention_factor(only_kind(yarn().set("llama.rope.scaling.attn_factor", 0.5f))),
              0.5 * magnitude, 1e-15, "A times attn_factor");
  auto const no_factor = read(small().set("llama.rope.scaling.type", "yarn"));
  EXPECT_TRUE(mentions(no_factor.assumptions, "llama.rope.scaling.factor is not given: 1"));
  expect_near(inv_freq(no_factor.kinds[0]), oracle::default_rule(64, 1e4), 1e-14);
}

// Which of YaRN's keys llama.cpp reads depends on the architecture. The converters write beta_fast,
// beta_slow, ext_factor and attn_factor for all.

/// YaRN with a value for each of the keys that some architectures read.
gguf_writer all_of_yarn(std::string const& name) {
  auto const key = name + ".rope.scaling.yarn_";
  auto file = yarn(name).set(key + "beta_fast", 16.0f).set(key + "beta_slow", 2.0f);
  file.set(key + "log_multiplier", 0.5f).set(key + "attn_factor", 2.0f);
  return file.set(key + "ext_factor", 0.5f);
}
std::vector<std::string> without_effect(std::string const& name) {
  std::vector<std::string> keys;
  for (auto const& sentence : read(all_of_yarn(name)).notes) {
    auto const end = " is without effect: llama.cpp does not read it for " + name + ".";
    auto const begin = name + ".rope.scaling.yarn_";
    if (sentence.starts_with(begin) && sentence.ends_with(end))
      keys.push_back(sentence.substr(begin.size(), sentence.size() - begin.size() - end.size()));
  }
  return keys;
}

TEST(gguf, keys_of_yarn_are_without_effect_where_llama_cpp_does_not_read_them) {
  for (std::string const name : {"llama", "qwen3", "gpt-oss", "minicpm3", "glm-dsa"}) {
    auto const all = read(all_of_yarn(name)).kinds[0], plain = read(yarn(name)).kinds[0];
    EXPECT_EQ(inv_freq(all), inv_freq(plain)) << name;
    EXPECT_EQ(attention_factor(all), attention_factor(plain)) << name;
    EXPECT_EQ(all.softmax_factor, plain.softmax_factor) << name;
    EXPECT_EQ(without_effect(name),
              (std::vector<std::string>{"attn_factor", "beta_fast", "beta_slow", "ext_factor",
                                        "log_multiplier"}))
        << name;
  }
  // 10000^(-26/64) (1 - 0.75 / 13), the ramp from 12 to 25; by the file's beta 0.0144653796.
  auto const f = inv_freq(only_kind(yarn().set("llama.rope.scaling.yarn_beta_fast", 1024.0f)));
  expect_near(f[13], 0.0223456368, 1e-8, "pair 13");
}

TEST(gguf, mistral_3_reads_betas_and_the_multiplier) {
  auto const kind = read(all_of_yarn("mistral3")).kinds[0];
  expect_near(inv_freq(kind), oracle::yarn_rule(64, 1e4, 4, 8192, 16, 2), 1e-14);
  expect_near(attention_factor(kind),
              static_cast<double>(oracle::yarn_mscale(4) / oracle::yarn_mscale(4, 0.5L)), 1e-15,
              "mscale 1 over 0.5");
  EXPECT_EQ(kind.softmax_factor, 1);
  EXPECT_EQ(without_effect("mistral3"), (std::vector<std::string>{"attn_factor", "ext_factor"}));
}

TEST(gguf, deepseek_reads_a_tenth_of_mscale_all_dim) {
  for (std::string const name : {"deepseek2", "deepseek32", "mistral4"}) {
    auto file = yarn(name).set(name + ".rope.dimension_count", uint32_t{32});
    file.set(name + ".rope.scaling.yarn_beta_fast", 1024.0f);
    if (name == "deepseek32") {
      file.set(name + ".attention.indexer.head_count", uint32_t{64})
          .set(name + ".attention.indexer.key_length", uint32_t{128})
          .set(name + ".attention.indexer.top_k", uint32_t{2048});
    }
    auto const kind = only_kind(file.set(name + ".rope.scaling.yarn_log_multiplier", 0.05f));
    expect_near(inv_freq(kind), oracle::yarn_rule(32, 1e4, 4, 8192), 1e-14);
    // DeepSeek V2 has mscale = mscale_all_dim, the others mscale 1.
    auto const all_dim = oracle::yarn_mscale(4, 10 * static_cast<long double>(0.05f));
    auto const mscale = name == "deepseek2" ? all_dim : oracle::yarn_mscale(4);
    expect_near(attention_factor(kind), static_cast<double>(mscale / all_dim), 1e-15, name);
    expect_near(kind.softmax_factor, static_cast<double>(mscale * mscale), 1e-14, name);
  }
}

TEST(gguf, grok_blends_yarn_by_its_ext_factor) {
  auto const with = [](float ext) {
    return yarn("grok").set("grok.rope.scaling.yarn_ext_factor", ext);
  };
  auto const whole = oracle::yarn_rule(64, 1e4, 4, 8192, 8),
             none = oracle::linear_rule(oracle::default_rule(64, 1e4), 4);
  expect_near(inv_freq(only_kind(with(1))), whole, 1e-14);
  expect_near(inv_freq(only_kind(with(-1))), whole, 1e-14);
  expect_near(inv_freq(only_kind(with(0))), none, 1e-14);
  EXPECT_EQ(attention_factor(only_kind(with(0))), 1);
  EXPECT_EQ(only_kind(with(0)).rotary[0].rule, "linear");
  // Without YaRN, yarn_attn_factor is what multiplies; with it, llama.cpp computes its own.
  auto const doubled = [&](float ext) {
    return read(with(ext).set("grok.rope.scaling.yarn_attn_factor", 2.0f));
  };
  EXPECT_EQ(attention_factor(doubled(0).kinds[0]), 2);
  expect_near(attention_factor(doubled(1).kinds[0]), static_cast<double>(oracle::yarn_mscale(4)),
              1e-15, "A");
  EXPECT_TRUE(mentions(doubled(1).notes,
                       "grok.rope.scaling.yarn_attn_factor is without effect: llama.cpp computes"));
  std::vector<double> half;
  for (std::size_t i = 0; i < whole.size(); ++i) half.push_back((whole[i] + none[i]) / 2);
  expect_near(inv_freq(only_kind(with(0.5f))), half, 1e-14);
  // A factor above 0 is YaRN, whatever the type.
  auto const untyped = small("grok")
                           .set("grok.rope.scaling.factor", 4.0f)
                           .set("grok.rope.scaling.yarn_ext_factor", 1.0f);
  expect_near(inv_freq(only_kind(untyped)), whole, 1e-14);
  EXPECT_EQ(only_kind(untyped).rotary[0].rule, "yarn");
}

TEST(gguf, grok_has_its_own_beta_fast_and_key_of_the_scale) {
  expect_near(inv_freq(only_kind(yarn("grok"))), oracle::yarn_rule(64, 1e4, 4, 8192, 8), 1e-14);
  auto const scaled = small("grok").set("grok.attention.output_scale", 0.0625f);
  EXPECT_EQ(only_kind(scaled).softmax_factor, 0.5);
}

TEST(gguf, deepseek_without_a_multiplier_puts_all_of_its_magnitude_on_both_sides) {
  // llama.cpp: kq_scale is that of (A (1 + 0.1 * 0))^2, where A = g(1) is on rotated queries and
  // keys as well.
  auto const kind =
      only_kind(yarn("deepseek2").set("deepseek2.rope.dimension_count", uint32_t{32}));
  auto const magnitude = static_cast<double>(oracle::yarn_mscale(4));
  expect_near(attention_factor(kind), magnitude, 1e-15, "A");
  expect_near(kind.softmax_factor, magnitude * magnitude, 1e-14, "softmax factor");
}

TEST(gguf, reads_longrope_by_its_tensors_alone) {
  std::vector<float> const shorts(32, 1.0f), longs(32, 2.0f);
  auto file =
      small().tensor("rope_factors_short.weight", shorts).tensor("rope_factors_long.weight", longs);
  auto const model = read(file.set("llama.rope.scaling.type", "longrope"));
  auto const plain = oracle::default_rule(64, 1e4);
  expect_near(inv_freq(model.kinds[0], 8192), plain, 1e-14);
  expect_near(inv_freq(model.kinds[0], 8193), oracle::linear_rule(plain, 2), 1e-14);
  EXPECT_EQ(attention_factor(model.kinds[0]), 1);
  EXPECT_TRUE(mentions(model.assumptions, "llama.rope.scaling.attn_factor is not given: 1"));
  EXPECT_TRUE(mentions(model.notes, "LongRoPE: the short list up to 8192 tokens"));
  auto const both = only_kind(file.tensor("rope_freqs.weight", std::vector<float>(32, 3.0f)));
  EXPECT_EQ(both.rotary[0].rule, "default");
  EXPECT_TRUE(both.rotary[0].has_pair_factors) << "which llama.cpp takes first";
  EXPECT_FALSE(model.kinds[0].rotary[0].has_pair_factors);
}

TEST(gguf, rotates_a_part_of_a_head) {
  auto const kind = only_kind(small("gptneox").set("gptneox.rope.dimension_count", uint32_t{16}));
  EXPECT_EQ(kind.head_dim, 64u);
  expect_near(inv_freq(kind), oracle::default_rule(16, 1e4), 1e-14);
  EXPECT_EQ(kind.rotary[0].block.first_dim(64, 16), 0u);
}

TEST(gguf, hunyuan_vl_changes_its_base_by_alpha) {
  // 10000 * 1000^(64/62), llama_model_hunyuan_vl::load_arch_hparams.
  auto const kind = only_kind(small("hunyuan_vl").set("hunyuan_vl.rope.scaling.alpha", 1000.0f));
  expect_near(inv_freq(kind), oracle::ntk_rule(64, 1e4, 1000), 1e-13);
  EXPECT_EQ(kind.rotary[0].rule, "ntk");
  auto const none = only_kind(small("hunyuan_vl").set("hunyuan_vl.rope.scaling.alpha", 0.0f));
  expect_near(inv_freq(none), oracle::default_rule(64, 1e4), 1e-14);
  EXPECT_EQ(refusal(small("hunyuan_vl").set("hunyuan_vl.rope.scaling.alpha", 1e-30f)),
            "posenc: m.gguf: hunyuan_vl.rope.scaling.alpha must leave freq_base * alpha^(d / (d - "
            "2)) finite and above 1, got 1.0000000031710769e-30");
}

TEST(gguf, glm_rotates_halves_where_it_has_sections) {
  EXPECT_TRUE(std::holds_alternative<interleaved>(only_kind(small("glm4")).rotary[0].layout));
  auto const kind = only_kind(
      small("glm4").list("glm4.rope.dimension_sections", std::vector<std::int32_t>{8, 12, 12, 0}));
  EXPECT_TRUE(std::holds_alternative<halves>(kind.rotary[0].layout));
  EXPECT_EQ(*kind.rotary[0].axes, contiguous_axes(std::vector<std::size_t>{8, 12, 12}));
  // A draft of a model with axes has all pairs on one: that is no M-RoPE.
  for (std::int32_t const first : {0, 32}) {
    auto const none = only_kind(small("glm4").list("glm4.rope.dimension_sections",
                                                   std::vector<std::int32_t>{first, 0, 0, 0}));
    EXPECT_TRUE(std::holds_alternative<interleaved>(none.rotary[0].layout));
    EXPECT_FALSE(none.rotary[0].axes);
  }
  auto const ernie =
      read(small("ernie4_5")
               .list("ernie4_5.rope.dimension_sections", std::vector<std::int32_t>{8, 12, 12, 0}));
  EXPECT_FALSE(ernie.kinds[0].rotary[0].axes) << "its graph has no axes";
  EXPECT_TRUE(mentions(ernie.notes, "ernie4_5.rope.dimension_sections is without effect"));
}

TEST(gguf, notes_where_ggml_has_a_fourth_axis_and_the_model_has_not) {
  EXPECT_TRUE(mentions(read(gguf_models::qwen3_vl_8b()).notes, "ggml has a fourth axis"));
  EXPECT_FALSE(mentions(read(gguf_models::qwen3_5_27b()).notes, "ggml has a fourth axis"));
}

// Layers.

std::string kinds_of(model_description const& model) {
  std::string letters;
  for (std::size_t i = 0; i < model.layers; ++i) {
    auto const& kind = model.kind_of(i);
    bool const slides = kind.name.starts_with("sliding");
    letters += kind.name == "no_attention" ? '-'
               : kind.rotary.empty()       ? (slides ? 'n' : 'N')
               : slides                    ? 's'
                                           : 'F';
  }
  return letters;
}
std::string kinds_of(gguf_writer const& file) { return kinds_of(read(file)); }
gguf_writer sliding(std::string const& name, uint32_t layers = 8) {
  return small(name, layers).set(name + ".attention.sliding_window", uint32_t{512});
}

TEST(gguf, knows_which_layers_slide) {
  EXPECT_EQ(kinds_of(small("gemma2", 4)), "sFsF");
  EXPECT_EQ(read(small("gemma2", 4)).kind_of(0).window, 4096u) << "where none is given";
  EXPECT_EQ(kinds_of(small("gemma3", 7)), "FFFFFFF") << "without a window";
  EXPECT_EQ(kinds_of(small("gemma3", 7).set("gemma3.attention.sliding_window", uint32_t{0})),
            "FFFFFFF");
  EXPECT_EQ(kinds_of(sliding("gemma3", 7)), "sssssFs");
  EXPECT_EQ(kinds_of(sliding("gemma3n", 10)), "ssssFssssF");
  EXPECT_EQ(kinds_of(sliding("cohere2")), "sssNsssN");
  EXPECT_EQ(kinds_of(sliding("olmo2")), "sssFsssF");
  EXPECT_EQ(kinds_of(sliding("gpt-oss")), "sFsFsFsF");
  EXPECT_EQ(kinds_of(sliding("exaone4")), "FFFFFFFF") << "the model of 1.2B";
  EXPECT_EQ(kinds_of(sliding("exaone4", 64)).substr(0, 8), "sssNsssN");
  EXPECT_EQ(kinds_of(small("exaone4", 64)).substr(0, 8), "sssNsssN");
  EXPECT_EQ(kinds_of(sliding("exaone-moe")), "sssNsssN");
  EXPECT_EQ(kinds_of(sliding("afmoe")), "sssNsssN");
  EXPECT_EQ(kinds_of(sliding("smallthinker")), "NsssNsss");
  EXPECT_EQ(kinds_of(small("smallthinker", 8)), "FFFFFFFF");
  EXPECT_EQ(kinds_of(sliding("modern-bert", 6)), "FssFss");
  EXPECT_EQ(kinds_of(small("smollm3", 8)), "FFFNFFFN");
  EXPECT_EQ(kinds_of(small("llama4", 8)), "FFFNFFFN");
  EXPECT_EQ(kinds_of(small("llama4", 8).set("llama4.attention.sliding_window", uint32_t{0})),
            "FFFFFFFF");
  EXPECT_EQ(kinds_of(sliding("phi3", 3)), "sss");
  EXPECT_EQ(kinds_of(sliding("phimoe", 3)), "sss");
  EXPECT_TRUE(mentions(read(sliding("phi3")).assumptions,
                       "taken for every layer, as the model's own code has it"));
  EXPECT_TRUE(mentions(read(sliding("gemma3")).assumptions,
                       "gemma3.attention.sliding_window_pattern is not given: 6"));
}

TEST(gguf, notes_a_pattern_without_a_window) {
  auto const useless =
      read(small("gemma3").set("gemma3.attention.sliding_window_pattern", uint32_t{2}));
  EXPECT_TRUE(mentions(
      useless.notes,
      "gemma3.attention.sliding_window_pattern is given, and no window: no layer slides."));
}

TEST(gguf, needs_the_pattern_of_gemma4_and_mimo2) {
  for (std::string const name : {"gemma4", "mimo2"}) {
    EXPECT_EQ(refusal(sliding(name)),
              "posenc: m.gguf: " + name +
                  ".attention.sliding_window_pattern must be given, and is absent");
  }
}

TEST(gguf, takes_the_pattern_that_is_given) {
  auto const every = [](std::string const& name, uint32_t n) {
    return kinds_of(sliding(name).set(name + ".attention.sliding_window_pattern", n));
  };
  EXPECT_EQ(every("gpt-oss", 3), "ssFssFss");
  EXPECT_EQ(every("gpt-oss", 0), "ssssssss");
  EXPECT_EQ(every("gpt-oss", 1), "FFFFFFFF");
  EXPECT_EQ(every("modern-bert", 4), "FsssFsss");
  std::vector<bool> const flags{true, false, false, true, true, false, true, false};
  EXPECT_EQ(kinds_of(sliding("mimo2").list("mimo2.attention.sliding_window_pattern", flags)),
            "sFFssFsF");
  EXPECT_EQ(kinds_of(sliding("gemma3").list("gemma3.attention.sliding_window_pattern",
                                            std::vector<uint32_t>{0, 0, 1, 1, 0, 0, 1, 1})),
            "FFssFFss");
}

TEST(gguf, all_layers_of_lfm2_slide_that_have_attention) {
  auto file = small("lfm2", 4).set("lfm2.attention.sliding_window", uint32_t{512});
  EXPECT_EQ(kinds_of(file), "ssss");
  EXPECT_EQ(kinds_of(small("lfm2", 4)), "FFFF");
}

TEST(gguf, takes_the_list_of_recurrent_layers_before_an_interval) {
  auto const list = small("qwen3next", 6)
                        .list("qwen3next.attention.recurrent_layers",
                              std::vector<bool>{true, false, true, true, true, false});
  EXPECT_EQ(kinds_of(list), "-F---F");
  EXPECT_FALSE(mentions(read(list).assumptions, "full_attention_interval"));
}

TEST(gguf, sliding_layers_have_the_rope_of_their_own) {
  auto const scaled = [](std::string const& name) {
    auto file = sliding(name).set(name + ".rope.freq_base", 1e6f);
    return file.set(name + ".rope.scaling.type", "linear").set(name + ".rope.scaling.factor", 8.0f);
  };
  auto const plain = [](double base) { return oracle::default_rule(64, base); };
  auto const gemma = read(scaled("gemma3")), olmo = read(scaled("olmo2")),
             cohere = read(scaled("cohere2"));
  expect_near(inv_freq(gemma.kind_of(0)), plain(1e4), 1e-14);
  expect_near(inv_freq(gemma.kind_of(5)), oracle::linear_rule(plain(1e6), 8), 1e-14);
  EXPECT_TRUE(mentions(gemma.assumptions, "gemma3.rope.freq_base_swa is not given: 10000"));
  expect_near(inv_freq(olmo.kind_of(0)), plain(1e6), 1e-14);
  expect_near(inv_freq(olmo.kind_of(3)), oracle::linear_rule(plain(1e6), 8), 1e-14);
  expect_near(inv_freq(cohere.kind_of(0)), oracle::linear_rule(plain(1e6), 8), 1e-14);
  auto const unread = read(scaled("olmo2").set("olmo2.rope.freq_base_swa", 2e4f));
  expect_near(inv_freq(unread.kind_of(0)), plain(1e6), 1e-14);
  EXPECT_TRUE(mentions(unread.notes, "olmo2.rope.freq_base_swa is without effect"));
  auto const given = read(scaled("gemma3").set("gemma3.rope.freq_base_swa", 2e4f));
  expect_near(inv_freq(given.kind_of(0)), plain(2e4), 1e-14);
}

TEST(gguf, local_layers_share_the_attention_factor) {
  auto const factors = [](double attention, double factor, char const* type = "yarn") {
    auto file = sliding("gemma3").set("gemma3.rope.scaling.type", type);
    file.set("gemma3.rope.scaling.attn_factor", static_cast<float>(attention))
        .set("gemma3.rope.scaling.factor", static_cast<float>(factor));
    auto const model = read(file);
    expect_near(inv_freq(model.kind_of(0)), oracle::default_rule(64, 1e4), 1e-14);
    std::vector<double> result;
    for (auto const layer : {0u, 5u})
      result.push_back(model.kind_of(layer).rotary.at(0).frequencies.at(1).attention_factor());
    return result;
  };
  expect_near(factors(2, 8), {2, 2 * (1 + 0.1 * std::log(8.0))}, 1e-15);
  expect_near(factors(1, 0.5), {1 / (1 - 0.1 * std::log(2.0)), 1}, 1e-15);
  expect_near(factors(3, 0.5, "linear"), {3, 3}, 1e-15);
  EXPECT_EQ(message_of([&] { factors(1, 0x1p-15); }),
            "posenc: m.gguf: gemma3.rope.scaling.factor must be above exp(-10) with YaRN, got "
            "3.0517578125e-05");
}

TEST(gguf, all_layers_of_cohere2_have_one_base) {
  auto const model = read(sliding("cohere2").set("cohere2.rope.freq_base_swa", 2e4f));
  expect_near(inv_freq(model.kind_of(0)), oracle::default_rule(64, 1e4), 1e-14);
  EXPECT_TRUE(mentions(model.notes, "cohere2.rope.freq_base_swa is without effect"));
}

TEST(gguf, cogvlm_rotates_whole_heads_unscaled_by_base_10000) {
  auto const with = [](std::string const& key, auto value) {
    return small("cogvlm").set("cogvlm.rope." + key, value);
  };
  auto const plain = oracle::default_rule(64, 1e4);
  expect_near(inv_freq(only_kind(with("dimension_count", uint32_t{32}))), plain, 1e-14);
  expect_near(inv_freq(only_kind(with("scaling.factor", 8.0f))), plain, 1e-14);
  expect_near(inv_freq(only_kind(with("freq_base", 1e4f))), plain, 1e-14);
  EXPECT_EQ(
      message_of([&] { read(with("freq_base", 5e5f)); }),
      "posenc: m.gguf: cogvlm.rope.freq_base must be 10000: llama.cpp has no other for this, got "
      "5e+05");
}

TEST(gguf, local_layers_have_base_10000_unless_given) {
  for (std::string const name : {"gemma3", "gemma3n", "gemma-embedding", "gemma4", "mimo2"}) {
    auto file = sliding(name).set(name + ".rope.freq_base", 1e6f);
    file.set(name + ".attention.sliding_window_pattern", uint32_t{4});
    expect_near(inv_freq(read(file).kind_of(0)), oracle::default_rule(64, 1e4), 1e-14);
  }
  auto const bert = read(sliding("modern-bert").set("modern-bert.rope.freq_base", 1e6f));
  expect_near(inv_freq(bert.kind_of(1)), oracle::default_rule(64, 1e4), 1e-14);
}

TEST(gguf, windows_of_embedding_models_are_symmetric) {
  auto const model = read(sliding("gemma-embedding"));
  EXPECT_EQ(model.kind_of(0).window, 257u) << "keys at distances up to 256 are seen";
  EXPECT_TRUE(mentions(model.notes, "The window is symmetric"));
}

TEST(gguf, windows_of_modern_bert_are_symmetric) {
  EXPECT_EQ(read(sliding("modern-bert")).kind_of(1).window, 257u);
}

TEST(gguf, leaves_out_layers_without_attention) {
  auto file = gguf_writer()
                  .set("general.architecture", "lfm2")
                  .set("lfm2.block_count", uint32_t{4})
                  .set("lfm2.embedding_length", uint32_t{64});
  file.set("lfm2.attention.head_count", uint32_t{4})
      .list("lfm2.attention.head_count_kv", std::vector<std::int32_t>{0, 0, 2, 0});
  EXPECT_EQ(kinds_of(file), "--F-");
  EXPECT_TRUE(mentions(read(file).notes, "no_attention layers"));
  EXPECT_EQ(kinds_of(small("qwen3next", 8)), "---F---F");
  EXPECT_TRUE(mentions(read(small("qwen3next", 8)).assumptions,
                       "qwen3next.full_attention_interval is not given: 4"));
  EXPECT_EQ(kinds_of(small("jamba", 2)), "NN");
  EXPECT_EQ(read(small("jamba", 2)).kinds[0].name, "full_attention, NoPE");
}

TEST(gguf, leaves_out_layers_that_predict_further_tokens) {
  auto const model = read(small("glm4moe", 5).set("glm4moe.nextn_predict_layers", uint32_t{1}));
  EXPECT_EQ(model.layers, 4u);
  EXPECT_TRUE(mentions(
      model.notes, "Layers that predict further tokens (nextn_predict_layers) are left out: 1."));
}

TEST(gguf, granite_does_not_rotate_if_its_rope_is_not_finetuned) {
  EXPECT_EQ(kinds_of(small("granite")), "FF");
  EXPECT_EQ(kinds_of(small("granite").set("granite.rope.scaling.finetuned", true)), "FF");
  EXPECT_EQ(kinds_of(small("granite").set("granite.rope.scaling.finetuned", false)), "NN");
  EXPECT_EQ(kinds_of(small("llama").set("llama.rope.scaling.finetuned", false)), "FF")
      << "of no meaning elsewhere";
}

TEST(gguf, every_granite_tells_so) {
  for (std::string const name : {"granite", "granitemoe", "granitehybrid"}) {
    EXPECT_EQ(kinds_of(small(name).set(name + ".rope.scaling.finetuned", false)), "NN") << name;
  }
}

TEST(gguf, sees_sinks_among_the_tensors) {
  auto const none = sliding("gpt-oss", 2).tensor("token_embd.weight", {64, 3}, 0, 0);
  EXPECT_FALSE(read(none).kind_of(0).sinks);
  auto const one =
      sliding("mimo2", 2)
          .list("mimo2.attention.sliding_window_pattern", std::vector<bool>{true, false});
  auto const model = read(gguf_writer(one).tensor("blk.0.attn_sinks.weight", {4}, 0, 0));
  EXPECT_TRUE(model.kind_of(0).sinks);
  EXPECT_FALSE(model.kind_of(1).sinks);
  auto const mixed = read(small("llama", 3).tensor("blk.1.attn_sinks.weight", {4}, 0, 0));
  EXPECT_EQ(mixed.kinds.size(), 2u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(mixed.kind_of(i).sinks, i == 1) << "layer " << i;
}

// Scores.

TEST(gguf, reads_scales_and_caps_of_scores) {
  EXPECT_EQ(only_kind(small("granite").set("granite.attention.scale", 0.0625f)).softmax_factor,
            0.5);
  EXPECT_EQ(only_kind(small("granite").set("granite.attention.scale", 0.0f)).softmax_factor, 1);
  EXPECT_EQ(read(small("gemma2")).kinds[0].score_cap, 50);
  EXPECT_EQ(read(small("gemma2").set("gemma2.attn_logit_softcapping", 30.0f)).kinds[0].score_cap,
            30);
  EXPECT_FALSE(only_kind(small("gemma3")).score_cap);
  EXPECT_EQ(only_kind(small("jais")).softmax_factor, 0.125) << "1 / 64 in all";
  auto const grok = read(small("grok"));
  EXPECT_EQ(grok.kinds[0].score_cap, 30);
  expect_near(grok.kinds[0].softmax_factor, 8 / std::sqrt(128.0), 1e-15, "of heads of 64 dims");
  EXPECT_TRUE(mentions(grok.assumptions, "grok.attn_logit_softcapping is not given: 30"));
  expect_near(read(small("gemma2", 46).set("gemma2.attention.key_length", uint32_t{16}))
                  .kinds[0]
                  .softmax_factor,
              0.5, 1e-15, "27B");
  EXPECT_TRUE(mentions(read(gguf_models::gemma_3_27b()).assumptions,
                       "gemma3.attention.scale is not given: 1 / sqrt(embedding_length"));
}

TEST(gguf, reads_temperatures_of_positions) {
  auto const with = [](std::string const& name, std::string const& key, auto value) {
    return gguf_writer(small(name).set(name + ".attention.temperature_scale", 0.5f))
        .set(name + "." + key, value);
  };
  EXPECT_EQ(only_kind(with("deepseek2", "attention.temperature_length", uint32_t{100}))
                .temperature->floor_scale,
            100);
  EXPECT_EQ(only_kind(with("mistral3", "rope.scaling.original_context_length", uint32_t{200}))
                .temperature->floor_scale,
            200);
  auto const model = read(small("mistral3").set("mistral3.attention.temperature_scale", 0.5f));
  EXPECT_EQ(model.kinds[0].temperature->floor_scale, 8192);
  EXPECT_EQ(model.kinds[0].temperature->scale, 0.5);
  EXPECT_EQ(model.kinds[0].temperature->offset, 0);
  EXPECT_TRUE(
      mentions(model.assumptions,
               "mistral3.attention.temperature_length is not given: the original context, 8192."));
  EXPECT_FALSE(
      only_kind(small("mistral3").set("mistral3.attention.temperature_scale", 0.0f)).temperature);
}

TEST(gguf, reads_biases_and_learned_positions) {
  auto const mpt = only_kind(small("mpt").set("mpt.attention.max_alibi_bias", 4.0f));
  EXPECT_EQ(mpt.alibi->heads, 4u);
  EXPECT_EQ(mpt.alibi->max_bias, 4);
  for (auto const& file :
       {small("mpt"), small("mpt").set("mpt.attention.max_alibi_bias", 0.0f), small("gpt2")}) {
    EXPECT_EQ(read(file).embedding, "learned");
    EXPECT_FALSE(only_kind(file).alibi);
    EXPECT_TRUE(only_kind(file).rotary.empty());
    EXPECT_EQ(only_kind(file).name, "full_attention");
  }
  EXPECT_TRUE(
      mentions(read(small("bloom")).assumptions, "bloom.attention.max_alibi_bias is not given: 8"));
  EXPECT_FALSE(only_kind(small("baichuan", 32)).alibi) << "the model of 7B rotates";
  EXPECT_EQ(only_kind(small("baichuan", 32)).rotary.size(), 1u);
}

// Absent keys, and errors.

TEST(gguf, refuses_an_unknown_architecture_unless_asked_to_take_it_for_llama) {
  EXPECT_EQ(refusal(small("newcomer")),
            "posenc: m.gguf: general.architecture must be one that is known, unless "
            "unknown_model::as_llama is asked for, got the string \"newcomer\"");
  EXPECT_NE(message_of([] { read(small("newcomer"), {.layout = halves()}); }), "");

  auto const as_llama = unknown_model::as_llama;
  auto file = sliding("newcomer", 2).set("newcomer.rope.new_rule", 1.0f);
  auto const model = read(file, {.unknown = as_llama});
  EXPECT_TRUE(std::holds_alternative<interleaved>(model.kinds[0].rotary[0].layout));
  EXPECT_EQ(model.assumptions,
            (std::vector<std::string>{
                "general.architecture newcomer is not known: pairs are interleaved, and defaults "
                "are Llama's.",
                "newcomer.attention.sliding_window is given, and no pattern of layers is known: "
                "none slides, as llama.cpp has it.",
                "newcomer.rope.freq_base is not given: 10000, as llama.cpp has it for llama."}));
  EXPECT_EQ(model.notes, std::vector<std::string>{"newcomer.rope.new_rule is not read."});
  EXPECT_EQ(model.assumed, (std::vector<model_setting>{{"general.architecture", "llama"},
                                                       {"newcomer.rope.freq_base", "10000"}}));
  EXPECT_EQ(model.ignored, (std::vector<model_setting>{{"newcomer.rope.new_rule", "1"}}));

  auto const other = read(small("newcomer"), {.unknown = as_llama, .layout = halves()});
  EXPECT_TRUE(std::holds_alternative<halves>(other.kinds[0].rotary[0].layout));
  EXPECT_TRUE(mentions(other.assumptions, "newcomer is not known: pairs are halves"));
  auto const known = read(small("gemma"), {.unknown = as_llama, .layout = interleaved()});
  EXPECT_TRUE(std::holds_alternative<halves>(known.kinds[0].rotary[0].layout));
  EXPECT_FALSE(mentions(known.assumptions, "is not known"));
}

TEST(gguf, an_unknown_architecture_keeps_the_layers_that_its_keys_tell) {
  auto file = sliding("newcomer").set("newcomer.attention.sliding_window_pattern", uint32_t{4});
  file.set("newcomer.attention.scale", 0.0625f).set("newcomer.rope.freq_base_swa", 2e4f);
  auto const model = read(file, {.unknown = unknown_model::as_llama});
  EXPECT_EQ(kinds_of(model), "sssFsssF");
  EXPECT_EQ(model.kinds[0].softmax_factor, 0.5);
  expect_near(inv_freq(model.kinds[0]), oracle::default_rule(64, 2e4), 1e-14);
}

TEST(gguf, refuses_unprintable_and_long_names_of_architectures) {
  auto const must = std::string(
      "posenc: m.gguf: general.architecture must be a name of 1 to 64 printable letters, got ");
  EXPECT_EQ(refusal(small("")), must + "the string \"\"");
  EXPECT_EQ(refusal(small("a\nb")), must + "the string \"a?b\"");
  EXPECT_EQ(refusal(small(std::string(65, 'a'))),
            must + "the string \"" + std::string(64, 'a') + "...\"");
  EXPECT_EQ(message_of([] { read(gguf_writer().set("general.architecture", uint32_t{7})); }),
            "posenc: m.gguf: general.architecture must be a string, got 7");
}

TEST(gguf, refuses_keys_that_act_and_that_nobody_reads) {
  for (std::string const key :
       {"rope.new_rule", "rope.scaling.alpha", "rope.freq_base_swa", "rope.dimension_sections",
        "attention.sliding_window", "attention.scale", "attention.output_scale",
        "attn_logit_softcapping", "attention.temperature_scale", "attention.max_alibi_bias",
        "attention.indexer.top_k", "attention.compress_ratios", "full_attention_interval",
        "attention.relative_buckets_count", "attention.new_scaling", "position_offset"}) {
    EXPECT_EQ(refusal(small().set("llama." + key, 1.0f)),
              "posenc: m.gguf: llama." + key +
                  " must be a key that is read for llama: its name says that it acts on positions, "
                  "scores or the mask, got 1");
  }
  // One architecture reads it and another does not.
  EXPECT_EQ(only_kind(small("granite").set("granite.attention.scale", 0.0625f)).softmax_factor,
            0.5);
  EXPECT_NE(refusal(small("grok").set("grok.attention.scale", 0.0625f)), "") << "is not its key";
  EXPECT_NE(refusal(small("gemma3").set("gemma3.attn_logit_softcapping", 30.0f)), "");
  EXPECT_NE(refusal(small("bloom").set("bloom.attention.max_alibi_bias", 4.0f)), "");
}

TEST(gguf, keys_that_act_elsewhere_or_nowhere_are_no_error) {
  auto const model = read(small("grok")
                              .set("grok.final_logit_softcapping", 50.0f)
                              .set("grok.router_logit_softcapping", 30.0f)
                              .set("grok.feed_forward_length", 1.0f)
                              .set("grok.expert_weights_scale", 2.0f)
                              .set("grok.attention.temperature_length", uint32_t{1024})
                              .set("other.rope.new_rule", 1.0f));
  EXPECT_EQ(model.notes,
            std::vector<std::string>{"grok.attention.temperature_length is without effect: "
                                     "llama.cpp does not read it for grok."});
  EXPECT_EQ(model.ignored,
            (std::vector<model_setting>{{"grok.attention.temperature_length", "1024"},
                                        {"grok.final_logit_softcapping", "50"},
                                        {"grok.router_logit_softcapping", "30"}}));
}

TEST(gguf, lists_what_it_read_for_programs) {
  auto file = small("qwen2vl").list("qwen2vl.rope.dimension_sections",
                                    std::vector<std::int32_t>{8, 12, 12, 0});
  auto const model = read(file.set("qwen2vl.rope.scaling.type", "none"));
  EXPECT_EQ(model.read,
            (std::vector<model_setting>{{"qwen2vl.rope.dimension_sections", "[8,12,12,0]"},
                                        {"qwen2vl.rope.scaling.type", "\"none\""}}));
  EXPECT_TRUE(model.ignored.empty());
  auto const none = read(small("bloom").set("bloom.rope.freq_base", 5e4f));
  EXPECT_EQ(none.ignored, (std::vector<model_setting>{{"bloom.rope.freq_base", "50000"}}))
      << "no layer rotates";
}

TEST(gguf, notes_that_queries_see_later_keys) {
  auto const note = "Queries see later keys too: attention.causal is false.";
  EXPECT_TRUE(mentions(read(small("bert").set("bert.attention.causal", false)).notes, note));
  EXPECT_FALSE(mentions(read(small("bert").set("bert.attention.causal", true)).notes, note));
}

TEST(gguf, refuses_files_without_a_key_that_has_no_default) {
  auto const needs = [](gguf_writer const& file, std::string const& key) {
    EXPECT_EQ(refusal(file), "posenc: m.gguf: " + key + " must be given, and is absent");
  };
  needs(gguf_writer(), "general.architecture");
  auto const named = gguf_writer().set("general.architecture", "llama");
  needs(named, "llama.block_count");
  auto const counted = gguf_writer(named).set("llama.block_count", uint32_t{2});
  needs(counted, "llama.attention.head_count");
  auto const headed = gguf_writer(counted).set("llama.attention.head_count", uint32_t{4});
  EXPECT_EQ(refusal(headed),
            "posenc: m.gguf: llama.embedding_length must be given where attention.key_length is "
            "not, and is absent");
  EXPECT_EQ(only_kind(gguf_writer(headed).set("llama.attention.key_length", uint32_t{32})).head_dim,
            32u);
  EXPECT_EQ(refusal(gguf_writer(headed).set("llama.embedding_length", uint32_t{30})),
            "posenc: m.gguf: llama.embedding_length must be a multiple of the 4 heads of layer 0, "
            "got 30");
  needs(small("qwen2vl"), "qwen2vl.rope.dimension_sections");
  needs(small("qwen3vl"), "qwen3vl.rope.dimension_sections");
  needs(small("t5"), "t5.attention.relative_buckets_count");
  auto const no_context = gguf_writer(headed).set("llama.attention.key_length", uint32_t{32});
  EXPECT_EQ(refusal(gguf_writer(no_context)
                        .set("llama.rope.scaling.type", "yarn")
                        .set("llama.rope.scaling.factor", 2.0f)),
            "posenc: m.gguf: llama.rope.scaling.original_context_length must be given where "
            "context_length is not, and is absent");
  auto const mistral = gguf_writer()
                           .set("general.architecture", "mistral3")
                           .set("mistral3.block_count", uint32_t{2})
                           .set("mistral3.attention.head_count", uint32_t{4})
                           .set("mistral3.attention.key_length", uint32_t{32});
  EXPECT_EQ(refusal(gguf_writer(mistral).set("mistral3.attention.temperature_scale", 0.1f)),
            "posenc: m.gguf: mistral3.attention.temperature_length must be given where "
            "attention.temperature_scale is, and is absent");
}

TEST(gguf, names_file_key_and_value_of_what_is_wrong) {
  auto const wrong_of = [](std::string const& name, std::string const& key, auto value,
                           std::string const& rest) {
    EXPECT_EQ(refusal(small(name).set(name + "." + key, value)),
              "posenc: m.gguf: " + name + "." + key + " must " + rest);
  };
  auto const wrong = [&](std::string const& key, auto value, std::string const& rest) {
    wrong_of("llama", key, value, rest);
  };
  wrong("rope.freq_base", "x", "be a finite number, got the string \"x\"");
  wrong("rope.freq_base", 1.0f, "be above 1, got 1");
  wrong("rope.freq_base", not_a_number(), "be a finite number, got NaN");
  wrong_of("gemma3", "rope.freq_base_swa", 0.5f, "be above 1, got 0.5");
  wrong("rope.dimension_count", uint32_t{63},
        "give an even number of rotary dims within the 64 of a head, got 63");
  wrong("rope.dimension_count", uint32_t{66},
        "give an even number of rotary dims within the 64 of a head, got 66");
  wrong("rope.dimension_count", uint32_t{0}, "be a whole number from 1 to 65536, got 0");
  wrong("rope.scaling.type", "dynamic",
        "be one of none, linear, yarn, longrope, got the string \"dynamic\"");
  wrong("rope.scaling.type", uint32_t{1}, "be a string, got 1");
  wrong("rope.scaling.type", "longrope",
        "come with the tensors rope_factors_long.weight and rope_factors_short.weight, got the "
        "string \"longrope\"");
  wrong("rope.scaling.factor", -0.5f, "be 0 or above, got -0.5");
  wrong("rope.scale_linear", -2.0f, "be 0 or above, got -2");
  wrong("rope.scaling.attn_factor", 0.0f, "be above 0, got 0");
  wrong_of("gemma3", "attention.sliding_window", std::int32_t{-1},
           "be a whole number from 0 to 9007199254740992, got -1");
  wrong("attention.key_length", std::uint64_t{1} << 40,
        "be a whole number from 1 to 65536, got 1099511627776");
  wrong_of("granite", "attention.scale", -1.0f, "be 0 or above, got -1");
  wrong_of("gemma2", "attn_logit_softcapping", -1.0f, "be 0 or above, got -1");
  wrong_of("mistral3", "attention.temperature_scale", true, "be a finite number, got true");
  wrong("nextn_predict_layers", uint32_t{2}, "be a whole number from 0 to 1, got 2");

  auto const wrong_yarn = [](std::string const& name, std::string const& key, float value,
                             std::string const& rest) {
    EXPECT_EQ(refusal(yarn(name).set(name + ".rope.scaling.yarn_" + key, value)),
              "posenc: m.gguf: " + name + ".rope.scaling.yarn_" + key + " must " + rest);
  };
  wrong_yarn("grok", "beta_fast", 0.0f, "be above 0, got 0");
  wrong_yarn("mistral3", "beta_slow", -1.0f, "be above 0, got -1");
  wrong_yarn("grok", "ext_factor", 1.5f,
             "be at most 1, or below 0, which leaves it to rope.scaling.type, got 1.5");
  wrong_yarn("deepseek2", "log_multiplier", -0.1f, "be 0 or above, got -0.10000000149011612");
}

TEST(gguf, refuses_wrong_lists) {
  auto const sections = [](std::vector<std::int32_t> const& s) {
    return refusal(small("qwen2vl").list("qwen2vl.rope.dimension_sections", s));
  };
  EXPECT_EQ(sections({8, 12, 11, 0}),
            "posenc: m.gguf: qwen2vl.rope.dimension_sections must sum to the 32 pairs of the "
            "rotary block, got 31");
  EXPECT_EQ(
      sections({16, 16}),
      "posenc: m.gguf: qwen2vl.rope.dimension_sections must have 3 or 4 sections, got a list of 2");
  EXPECT_EQ(
      sections({-8, 20, 20}),
      "posenc: m.gguf: qwen2vl.rope.dimension_sections must hold whole numbers of pairs, got -8");
  EXPECT_EQ(refusal(small("qwen3vl").list("qwen3vl.rope.dimension_sections",
                                          std::vector<std::int32_t>{8, 8, 8, 8})),
            "posenc: m.gguf: qwen3vl.rope.dimension_sections must have 3 sections where axes "
            "interleave, got 4");
  auto const pattern = [](std::vector<std::int32_t> const& p) {
    return refusal(sliding("gemma3", 2).list("gemma3.attention.sliding_window_pattern", p));
  };
  EXPECT_EQ(pattern({1}),
            "posenc: m.gguf: gemma3.attention.sliding_window_pattern must have one entry for each "
            "of the 2 layers, got a list of 1");
  EXPECT_EQ(
      pattern({1, 2}),
      "posenc: m.gguf: gemma3.attention.sliding_window_pattern must hold whole numbers from 0 "
      "to 1, got 2 for layer 1");
  auto const heads = gguf_writer()
                         .set("general.architecture", "bloom")
                         .set("bloom.block_count", uint32_t{2})
                         .set("bloom.attention.key_length", uint32_t{8});
  EXPECT_EQ(refusal(gguf_writer(heads).list("bloom.attention.head_count",
                                            std::vector<std::int32_t>{4, 8})),
            "posenc: m.gguf: bloom.attention.head_count must be above 0 and the same for all "
            "layers with ALiBi, got a list of 2");
}

TEST(gguf, refuses_wrong_tensors_of_factors) {
  auto const factors = [](std::string const& name, std::vector<float> const& values) {
    return refusal(small().tensor(name, values));
  };
  EXPECT_EQ(
      factors("rope_freqs.weight", std::vector<float>(31, 1.0f)),
      "posenc: m.gguf: rope_freqs.weight must have one factor for each of the 32 pairs, got 31");
  std::vector<float> wrong(32, 1.0f);
  wrong[7] = 0;
  EXPECT_EQ(factors("rope_freqs.weight", wrong),
            "posenc: m.gguf: rope_freqs.weight must have finite factors above 0, got 0");
  wrong[7] = float_of_bits(0x7fc00000);
  EXPECT_EQ(factors("rope_freqs.weight", wrong),
            "posenc: m.gguf: rope_freqs.weight must have finite factors above 0, got NaN");
  wrong[7] = 1e-30f;
  EXPECT_TRUE(
      factors("rope_freqs.weight", wrong)
          .starts_with("posenc: m.gguf: frequencies: inv_freq must be in [0, 2^64] radians"));
  EXPECT_EQ(factors("rope_factors_long.weight", std::vector<float>(32, 1.0f)),
            "posenc: m.gguf: rope_factors_long.weight and rope_factors_short.weight must be given "
            "together, got one");
}

}  // namespace of_gguf
}  // namespace
