#include "posenc/model/gguf/architectures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/model/gguf.hpp"
#include "rejects.hpp"

// Architectures of 2026, with the settings of a released model or of its class in transformers, as
// llama.cpp's converters write them. What llama.cpp does with them was read in
// src/models/NAME.cpp @ 1425386f.

namespace {
namespace of_gguf_architectures {

using namespace posenc;
using gguf_models::common;
using std::uint32_t;

model_description read(gguf_writer const& file) {
  auto const bytes = file.str();
  return read_gguf(gguf_metadata(bytes_of(bytes), "m.gguf"));
}
std::string refusal(gguf_writer const& file) {
  return message_of([&] { read(file); });
}
rotary_description const& rotary(layer_description const& kind) { return kind.rotary.at(0); }

/// Numbers in the file are f32.
void expect_frequencies(rotary_description const& rotary, std::vector<double> const& expected,
                        double attention_factor = 1) {
  auto const f = rotary.frequencies.at(1);
  ASSERT_EQ(f.pairs(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(f.inv_freq()[i], expected[i], 0x1p-23 * expected[i]) << "pair " << i;
  EXPECT_NEAR(f.attention_factor(), attention_factor, 1e-14);
}
bool is_interleaved(rotary_description const& rotary) {
  return std::holds_alternative<interleaved>(rotary.layout);
}

/// s slides, F sees all keys, c and h see pooled ones; n and N do not rotate.
std::string kinds_of(model_description const& model) {
  std::string letters;
  for (std::size_t i = 0; i < model.layers; ++i) {
    auto const& kind = model.kind_of(i);
    bool const slides = kind.name.starts_with("sliding");
    letters += kind.name.starts_with("compressed") ? 'c'
               : kind.name.starts_with("heavily")  ? 'h'
               : kind.rotary.empty()               ? (slides ? 'n' : 'N')
               : slides                            ? 's'
                                                   : 'F';
  }
  return letters;
}
std::vector<bool> every_fourth_is_full(std::size_t layers, std::size_t first = 3) {
  std::vector<bool> slides;
  for (std::size_t i = 0; i < layers; ++i) slides.push_back(i % 4 != first);
  return slides;
}
bool mentions(std::vector<std::string> const& sentences, std::string const& part) {
  return std::ranges::any_of(
      sentences, [&](auto const& sentence) { return sentence.find(part) != std::string::npos; });
}

TEST(gguf_architectures, cohere2moe_rotates_sliding_layers_and_dense_ones) {
  auto file = common("cohere2moe", {49, 131072, 2048, 16, 4});
  file.set("cohere2moe.attention.key_length", uint32_t{128})
      .set("cohere2moe.attention.sliding_window", uint32_t{4096});
  file.set("cohere2moe.leading_dense_block_count", uint32_t{1})
      .set("cohere2moe.rope.dimension_count", uint32_t{128});
  file.set("cohere2moe.rope.freq_base", 50000.0f).set("cohere2moe.rope.scaling.type", "none");
  auto const listed = gguf_writer(file).list("cohere2moe.attention.sliding_window_pattern",
                                             every_fourth_is_full(49, 0));
  for (auto const& one : {listed, file}) {
    auto const model = read(one);
    EXPECT_EQ(kinds_of(model).substr(0, 9), "FsssNsssN") << "the first layer is dense";
    EXPECT_TRUE(is_interleaved(rotary(model.kind_of(1))));
    for (std::size_t const layer : {0u, 1u})
      expect_frequencies(rotary(model.kind_of(layer)), oracle::default_rule(128, 5e4));
    EXPECT_EQ(model.kind_of(1).window, 4096u);
    EXPECT_FALSE(model.kind_of(0).window);
    EXPECT_TRUE(mentions(model.assumptions, "RoPE in sliding layers and the first 1."));
  }
  auto const sparse = gguf_writer(file).set("cohere2moe.nextn_predict_layers", uint32_t{1});
  EXPECT_EQ(read(sparse).layers, 48u);
}

TEST(gguf_architectures, deepseek2_ocr_rotates_whole_heads_of_halves_unscaled) {
  // DeepSeek-OCR: qk_rope_head_dim is 0, and its converter writes that.
  auto file = common("deepseek2-ocr", {12, 8192, 1280, 10, 10});
  file.set("deepseek2-ocr.rope.dimension_count", uint32_t{0})
      .set("deepseek2-ocr.rope.freq_base", 10000.0f);
  file.set("deepseek2-ocr.attention.sliding_window", uint32_t{128});
  auto const model = read(file);
  EXPECT_EQ(kinds_of(model), "FFFFFFFFFFFF");
  EXPECT_EQ(model.kinds[0].head_dim, 128u);
  EXPECT_FALSE(is_interleaved(rotary(model.kinds[0])));
  expect_frequencies(rotary(model.kinds[0]), oracle::default_rule(128, 1e4));
  EXPECT_EQ(model.kinds[0].softmax_factor, 1);
  EXPECT_TRUE(mentions(model.notes, "deepseek2-ocr.attention.sliding_window is without effect"));
  auto const scaled = read(gguf_writer(file).set("deepseek2-ocr.rope.scaling.factor", 4.0f));
  expect_frequencies(rotary(scaled.kinds[0]), oracle::default_rule(128, 1e4));
}

TEST(gguf_architectures, deepseek4_pools_keys_and_chooses_among_them) {
  auto const model = read(gguf_models::deepseek_v4_flash());
  EXPECT_EQ(kinds_of(model), "sschchchchchchchchchchchchchchchchchchchchc");
  auto const &sliding = model.kind_of(0), &sparse = model.kind_of(2), &heavy = model.kind_of(3);
  EXPECT_EQ(sliding.pooled, 0u);
  EXPECT_FALSE(sliding.index);
  expect_frequencies(rotary(sliding), oracle::default_rule(64, 1e4));
  auto const compressed = oracle::yarn_rule(64, 1.6e5, 16, 65536);
  for (auto const* kind : {&sparse, &heavy}) {
    expect_frequencies(rotary(*kind), compressed);
    EXPECT_EQ(rotary(*kind).block.first_dim(512, 64), 448u);
    EXPECT_TRUE(is_interleaved(rotary(*kind)));
    EXPECT_EQ(kind->window, 128u);
    EXPECT_EQ(kind->softmax_factor, 1);
  }
  EXPECT_EQ(sparse.pooled, 4u);
  EXPECT_EQ(heavy.pooled, 128u);
  EXPECT_FALSE(heavy.index);
  auto const& index = *sparse.index;
  EXPECT_EQ(index.key_stride, 4u);
  EXPECT_EQ(index.heads, 64u);
  EXPECT_EQ(index.head_dim, 128u);
  EXPECT_EQ(index.chosen, 512u);
  EXPECT_EQ(index.block, 1u);
  expect_frequencies(index.rotary, compressed);
  EXPECT_TRUE(is_interleaved(index.rotary));
  EXPECT_EQ(index.rotary.block.first_dim(128, 64), 64u);
  EXPECT_TRUE(mentions(model.notes, "rotated back at the position of the query"));
  auto const louder =
      read(gguf_models::deepseek_v4_flash().set("deepseek4.rope.scaling.attn_factor", 1.25f));
  expect_frequencies(rotary(louder.kind_of(2)), compressed);
  EXPECT_TRUE(mentions(louder.notes, "deepseek4.rope.scaling.attn_factor is without effect"));
}

TEST(gguf_architectures, deepseek4_needs_its_ratios) {
  auto file = common("deepseek4", {2, 1048576, 4096, 64, 1});
  EXPECT_EQ(refusal(file),
            "posenc: m.gguf: deepseek4.attention.compress_ratios must be given, and is absent");
  auto const with = [&](std::int32_t ratio) {
    return gguf_writer(file).list("deepseek4.attention.compress_ratios",
                                  std::vector<std::int32_t>{0, ratio});
  };
  EXPECT_EQ(refusal(with(8)),
            "posenc: m.gguf: deepseek4.attention.compress_ratios must be 0, 4 or 128 for each "
            "layer, got a list of 2");
  EXPECT_EQ(refusal(with(128)),
            "posenc: m.gguf: deepseek4.attention.compress_rope_freq_base must be given, and is "
            "absent");
}

TEST(gguf_architectures, indexers_of_deepseek32_have_halves_first) {
  auto file = common("deepseek32", {61, 163840, 7168, 128, 1});
  file.set("deepseek32.attention.key_length", uint32_t{576})
      .set("deepseek32.attention.key_length_mla", uint32_t{192});
  file.set("deepseek32.rope.dimension_count", uint32_t{64})
      .set("deepseek32.attention.indexer.head_count", uint32_t{64});
  file.set("deepseek32.attention.indexer.key_length", uint32_t{128})
      .set("deepseek32.attention.indexer.top_k", uint32_t{2048});
  auto const kind = read(file).kinds.at(0);
  EXPECT_TRUE(is_interleaved(rotary(kind)));
  EXPECT_EQ(rotary(kind).block.first_dim(192, 64), 128u);
  ASSERT_TRUE(kind.index);
  EXPECT_EQ(kind.index->chosen, 2048u);
  EXPECT_FALSE(is_interleaved(kind.index->rotary));
  EXPECT_EQ(kind.index->rotary.block.first_dim(128, 64), 0u);
  expect_frequencies(kind.index->rotary, oracle::default_rule(64, 1e4));
  // llama.cpp's GLM-5 sees all keys.
  auto glm = common("glm-dsa", {2, 163840, 7168, 128, 1})
                 .set("glm-dsa.rope.dimension_count", uint32_t{32});
  auto const dense = read(glm.set("glm-dsa.attention.indexer.top_k", uint32_t{2048}));
  EXPECT_FALSE(dense.kinds[0].index);
  EXPECT_TRUE(mentions(dense.notes, "glm-dsa.attention.indexer.top_k is without effect"));
}

TEST(gguf_architectures, dflash_has_one_rope_for_all_layers) {
  // A draft for Qwen3 8B: 5 layers of which the last sees all keys; a draft for a model with M-RoPE
  // has all pairs on one axis.
  auto file = common("dflash", {5, 40960, 4096, 32, 8});
  file.set("dflash.attention.key_length", uint32_t{128}).set("dflash.rope.freq_base", 1000000.0f);
  file.list("dflash.rope.dimension_sections", std::vector<std::int32_t>{64, 0, 0, 0});
  EXPECT_EQ(kinds_of(read(file)), "FFFFF");
  file.set("dflash.attention.sliding_window", uint32_t{2048})
      .list("dflash.attention.sliding_window_pattern",
            std::vector<bool>{true, true, true, true, false});
  auto const model = read(file);
  EXPECT_EQ(kinds_of(model), "ssssF");
  for (auto const& kind : model.kinds) {
    EXPECT_FALSE(is_interleaved(rotary(kind)));
    EXPECT_FALSE(rotary(kind).axes);
    expect_frequencies(rotary(kind), oracle::default_rule(128, 1e6));
  }
  EXPECT_EQ(refusal(file.set("dflash.hyper_connection.count", uint32_t{4})),
            "posenc: m.gguf: dflash.hyper_connection.count must be absent: it makes another model "
            "of this, got 4");
}

TEST(gguf_architectures, eagle3_rotates_by_the_factors_of_its_target) {
  // For Llama 3.1 8B: one layer, twice the embedding.
  auto file = common("eagle3", {1, 2048, 4096, 32, 8});
  file.set("eagle3.attention.key_length", uint32_t{128}).set("eagle3.rope.freq_base", 500000.0f);
  auto const plain = oracle::default_rule(128, 5e5);
  auto const scaled = oracle::llama3_rule(plain, 8, 1, 4, 8192);
  auto const model = read(file.tensor("rope_freqs.weight", gguf_models::factors(plain, scaled)));
  EXPECT_EQ(kinds_of(model), "F");
  EXPECT_TRUE(is_interleaved(rotary(model.kinds[0])));
  auto const f = rotary(model.kinds[0]).frequencies.at(1);
  EXPECT_NEAR(f.inv_freq()[32], 5.24846161e-4, 1e-7 * 5.24846161e-4);
}

TEST(gguf_architectures, gemma4_assistants_queries_see_another_models_keys) {
  auto file = common("gemma4-assistant", {4, 131072, 256, 4, 1});
  file.set("gemma4-assistant.nextn_predict_layers", uint32_t{4})
      .set("gemma4-assistant.attention.key_length", uint32_t{512});
  file.set("gemma4-assistant.attention.key_length_swa", uint32_t{256})
      .set("gemma4-assistant.attention.sliding_window", uint32_t{512});
  file.set("gemma4-assistant.attention.shared_kv_layers", uint32_t{4})
      .list("gemma4-assistant.attention.sliding_window_pattern", every_fourth_is_full(4));
  file.set("gemma4-assistant.rope.dimension_count", uint32_t{512})
      .set("gemma4-assistant.rope.dimension_count_swa", uint32_t{256});
  file.set("gemma4-assistant.rope.freq_base", 1000000.0f)
      .set("gemma4-assistant.rope.freq_base_swa", 10000.0f);
  auto const proportional = oracle::proportional_rule(512, 1e6, 0.25);
  auto const model = read(file.tensor(
      "rope_freqs.weight", gguf_models::factors(oracle::default_rule(512, 1e6), proportional)));
  EXPECT_EQ(kinds_of(model), "sssF") << "all of its layers predict";
  expect_frequencies(rotary(model.kind_of(0)), oracle::default_rule(256, 1e4));
  expect_frequencies(rotary(model.kind_of(3)), proportional);
  EXPECT_EQ(model.kind_of(0).softmax_factor, 16) << "scores are not divided";
  EXPECT_TRUE(mentions(model.notes, "Queries alone rotate here"));
}

TEST(gguf_architectures, hy_v3_is_plain) {
  auto file = common("hy_v3", {81, 131072, 4096, 64, 8});
  file.set("hy_v3.attention.key_length", uint32_t{128}).set("hy_v3.rope.freq_base", 11158840.0f);
  auto const model = read(file.set("hy_v3.nextn_predict_layers", uint32_t{1}));
  EXPECT_EQ(kinds_of(model), std::string(80, 'F'));
  EXPECT_FALSE(is_interleaved(rotary(model.kinds[0])));
  expect_frequencies(rotary(model.kinds[0]), oracle::default_rule(128, 11158840));
  EXPECT_NEAR(rotary(model.kinds[0]).frequencies.at(1).inv_freq()[1],
              std::exp(-std::log(11158840.0) / 64), 1e-12);
}

TEST(gguf_architectures, laguna_scales_full_layers_alone) {
  // Laguna S: heads of 128 dims, of which half rotate in full layers, the first of each four.
  auto file = common("laguna", {48, 262144, 3072, 48, 8});
  file.set("laguna.attention.key_length", uint32_t{128})
      .set("laguna.attention.sliding_window", uint32_t{512});
  file.set("laguna.rope.dimension_count", uint32_t{64})
      .set("laguna.rope.dimension_count_swa", uint32_t{128});
  file.set("laguna.rope.freq_base", 500000.0f).set("laguna.rope.freq_base_swa", 10000.0f);
  file.set("laguna.rope.scaling.type", "yarn").set("laguna.rope.scaling.factor", 32.0f);
  file.set("laguna.rope.scaling.original_context_length", uint32_t{8192})
      .set("laguna.rope.scaling.yarn_attn_factor", 1.0f);
  auto const model = read(file);
  EXPECT_EQ(kinds_of(model).substr(0, 8), "FsssFsss");
  expect_frequencies(rotary(model.kind_of(0)), oracle::yarn_rule(64, 5e5, 32, 8192),
                     static_cast<double>(oracle::yarn_mscale(32)));
  expect_frequencies(rotary(model.kind_of(1)), oracle::default_rule(128, 1e4));
  EXPECT_EQ(model.kind_of(1).window, 512u);
  EXPECT_FALSE(is_interleaved(rotary(model.kind_of(1))));
}

TEST(gguf_architectures, mellum_scales_full_layers_alone_and_has_one_base) {
  auto file = common("mellum", {28, 131072, 2304, 32, 4});
  file.set("mellum.attention.key_length", uint32_t{128})
      .set("mellum.attention.sliding_window", uint32_t{1024});
  file.list("mellum.attention.sliding_window_pattern", every_fourth_is_full(28));
  file.set("mellum.rope.freq_base", 500000.0f).set("mellum.rope.freq_base_swa", 10000.0f);
  file.set("mellum.rope.scaling.type", "yarn").set("mellum.rope.scaling.factor", 16.0f);
  file.set("mellum.rope.scaling.original_context_length", uint32_t{8192});
  auto const model = read(file);
  EXPECT_EQ(kinds_of(model).substr(0, 8), "sssFsssF");
  expect_frequencies(rotary(model.kind_of(0)), oracle::default_rule(128, 5e5));
  expect_frequencies(rotary(model.kind_of(3)), oracle::yarn_rule(128, 5e5, 16, 8192),
                     static_cast<double>(oracle::yarn_mscale(16)));
  EXPECT_TRUE(mentions(model.notes, "mellum.rope.freq_base_swa is without effect"));
}

TEST(gguf_architectures, minimax_m3_chooses_blocks_of_keys_after_its_dense_layers) {
  auto file = common("minimax-m3", {60, 524288, 6144, 64, 4});
  file.set("minimax-m3.attention.key_length", uint32_t{128})
      .set("minimax-m3.rope.dimension_count", uint32_t{64});
  file.set("minimax-m3.rope.freq_base", 5000000.0f)
      .set("minimax-m3.leading_dense_block_count", uint32_t{3});
  file.set("minimax-m3.attention.indexer.head_count", uint32_t{4})
      .set("minimax-m3.attention.indexer.key_length", uint32_t{128});
  file.set("minimax-m3.attention.indexer.top_k", uint32_t{16})
      .set("minimax-m3.attention.indexer.block_size", uint32_t{128});
  auto const model = read(file.set("minimax-m3.attention.indexer.local_blocks", uint32_t{1}));
  EXPECT_EQ(kinds_of(model), std::string(60, 'F'));
  ASSERT_EQ(model.kinds.size(), 2u);
  EXPECT_EQ(model.kinds[0].layers.size(), 3u);
  EXPECT_FALSE(model.kinds[0].index);
  for (auto const& kind : model.kinds) {
    expect_frequencies(rotary(kind), oracle::default_rule(64, 5e6));
    EXPECT_FALSE(is_interleaved(rotary(kind)));
    EXPECT_EQ(rotary(kind).block.first_dim(128, 64), 0u);
  }
  auto const& index = model.kinds[1].index.value();
  EXPECT_EQ(index.heads, 4u);
  EXPECT_EQ(index.chosen, 16u);
  EXPECT_EQ(index.block, 128u);
  EXPECT_EQ(index.local_blocks, 1u);
  EXPECT_FALSE(is_interleaved(index.rotary));
  expect_frequencies(index.rotary, oracle::default_rule(64, 5e6));
  auto const narrow = common("minimax-m3", {4, 8, 6144, 64, 4})
                          .set("minimax-m3.attention.indexer.key_length", uint32_t{64});
  EXPECT_EQ(refusal(narrow),
            "posenc: m.gguf: minimax-m3.attention.indexer.key_length must hold the 96 rotary dims "
            "and be at most 65536, got 64");
}

TEST(gguf_architectures, nanbeige_passes_its_layers_twice) {
  // Nanbeige4.2-3B: 22 layers, num_loops 2.
  auto file = common("nanbeige", {22, 262144, 2560, 20, 4});
  file.set("nanbeige.attention.key_length", uint32_t{128})
      .set("nanbeige.rope.freq_base", 70000000.0f);
  EXPECT_EQ(read(file).layers, 22u);
  auto const model = read(file.set("nanbeige.num_loops", uint32_t{2}));
  EXPECT_EQ(kinds_of(model), std::string(44, 'F'));
  EXPECT_TRUE(is_interleaved(rotary(model.kinds[0])));
  expect_frequencies(rotary(model.kinds[0]), oracle::default_rule(128, 7e7));
  EXPECT_TRUE(mentions(model.notes, "The 22 layers of the file are passed 2 times"));
  EXPECT_EQ(
      refusal(common("nanbeige", {22, 8, 2560, 20, 4}).set("nanbeige.num_loops", uint32_t{4000})),
      "posenc: m.gguf: nanbeige.num_loops must be a whole number from 1 to 2978, got 4000");
}

TEST(gguf_architectures, plamo3_slides_in_seven_of_eight_layers) {
  auto file = common("plamo3", {24, 4096, 2048, 16, 2});
  file.set("plamo3.attention.key_length", uint32_t{128})
      .set("plamo3.attention.sliding_window", uint32_t{2048});
  file.set("plamo3.rope.freq_base", 1000000.0f).set("plamo3.rope.scaling.factor", 2.0f);
  auto const by_default = read(file);
  auto const given = read(file.set("plamo3.attention.sliding_window_pattern", uint32_t{8}));
  for (auto const* model : {&by_default, &given}) {
    EXPECT_EQ(kinds_of(*model).substr(0, 16), "sssssssFsssssssF");
    expect_frequencies(rotary(model->kind_of(0)), oracle::default_rule(128, 1e4));
    expect_frequencies(rotary(model->kind_of(7)),
                       oracle::linear_rule(oracle::default_rule(128, 1e6), 2));
  }
  EXPECT_EQ(kinds_of(read(common("plamo3", {4, 4096, 2048, 16, 2}))), "FFFF");
}

TEST(gguf_architectures, step35_rotates_half_of_the_heads_of_full_layers) {
  // Step-3.5-Flash: bases 5e6 and 1e4, Llama 3's factors on full layers, 64 or 96 heads, padded to
  // the 64 pairs of sliding layers.
  constexpr std::size_t layers = 45;
  std::vector<bool> slides = every_fourth_is_full(layers, 0);
  std::vector<std::int32_t> heads;
  for (bool const one : slides) heads.push_back(one ? 96 : 64);
  gguf_writer file;
  file.set("general.architecture", "step35").set("step35.block_count", uint32_t{layers});
  file.set("step35.context_length", uint32_t{262144})
      .set("step35.embedding_length", uint32_t{4096});
  file.list("step35.attention.head_count", heads)
      .set("step35.attention.head_count_kv", uint32_t{8});
  file.set("step35.attention.key_length", uint32_t{128})
      .set("step35.attention.sliding_window", uint32_t{512});
  file.list("step35.attention.sliding_window_pattern", slides);
  file.set("step35.rope.freq_base", 5000000.0f).set("step35.rope.freq_base_swa", 10000.0f);
  auto const plain = oracle::default_rule(64, 5e6);
  auto const scaled = oracle::llama3_rule(plain, 2, 1, 32, 131072);
  auto factors = gguf_models::factors(plain, scaled);
  EXPECT_EQ(factors.size(), 32u);
  factors.resize(64, 1.0f);
  auto const model = read(file.tensor("rope_freqs.weight", factors));
  EXPECT_EQ(kinds_of(model).substr(0, 8), "FsssFsss");
  expect_frequencies(rotary(model.kind_of(0)), scaled);
  expect_frequencies(rotary(model.kind_of(1)), oracle::default_rule(128, 1e4));
  EXPECT_FALSE(is_interleaved(rotary(model.kind_of(0))));
  EXPECT_EQ(model.kind_of(1).window, 512u);
  EXPECT_EQ(refusal(common("step35", {4, 4096, 512, 4, 4})
                        .set("step35.attention.sliding_window", uint32_t{512})),
            "posenc: m.gguf: step35.attention.sliding_window_pattern must be given, and is absent");
}

TEST(gguf_architectures, talkie_is_plain) {
  // Its own code turns by the negative angle; the converter negates half of the weights instead.
  auto file = common("talkie", {40, 2048, 5120, 40, 40});
  auto const model = read(file.set("talkie.rope.freq_base", 1000000.0f));
  EXPECT_EQ(kinds_of(model), std::string(40, 'F'));
  EXPECT_FALSE(is_interleaved(rotary(model.kinds[0])));
  expect_frequencies(rotary(model.kinds[0]), oracle::default_rule(128, 1e6));
}

TEST(gguf_architectures, take_a_pattern_as_llama_cpp_does) {
  auto const with = [](std::string const& name, auto const& pattern) {
    auto file = common(name, {4, 4096, 512, 4, 4});
    file.set(name + ".attention.sliding_window", uint32_t{512});
    if constexpr (requires { pattern.size(); }) {
      return read(file.list(name + ".attention.sliding_window_pattern", pattern));
    } else {
      return read(file.set(name + ".attention.sliding_window_pattern", pattern));
    }
  };
  EXPECT_EQ(kinds_of(with("olmo2", uint32_t{2})), "sFsF");
  EXPECT_EQ(kinds_of(with("mimo2", uint32_t{2})), "ssss") << "an entry for each layer";
  EXPECT_EQ(kinds_of(with("mimo2", uint32_t{0})), "FFFF");
  auto const odd = with("olmo2", std::vector<bool>{true, true, false, false});
  EXPECT_EQ(kinds_of(odd), "ssFF");
  EXPECT_TRUE(mentions(odd.notes,
                       "olmo2.attention.sliding_window_pattern is a list, which llama.cpp ignores "
                       "for olmo2: there every 4th layer sees all keys."));
  EXPECT_TRUE(with("olmo2", every_fourth_is_full(4)).notes.empty());
  EXPECT_TRUE(with("mellum", std::vector<bool>{true, true, false, false}).notes.empty());
}

TEST(gguf_architectures, share_no_name) {
  std::vector<std::string_view> names;
  for (auto const& record : detail::gguf_architectures::all)
    for (auto const name : detail::words_of(record.types)) names.push_back(name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace of_gguf_architectures
}  // namespace
