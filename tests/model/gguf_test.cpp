#include "posenc/model/gguf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
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

namespace { namespace of_gguf {

using namespace posenc;

model_description read(gguf_writer const& file) {
  auto const bytes = file.str();
  return read_gguf(gguf_metadata(bytes_of(bytes), "m.gguf"));
}
std::vector<double> inv_freq(layer_description const& kind) {
  auto const f = kind.rotary.at(0).frequencies.at(1);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
std::string refusal(gguf_writer const& file) {
  return message_of([&] { read(file); });
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
gguf_writer small() { return gguf_models::common("llama", {2, 8192, 256, 4, 4}); }

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
    EXPECT_EQ(inv_freq(model.kinds[0]), inv_freq(read(gguf_models::llama_3_1_8b()).kinds[0]));
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

TEST(gguf, llama_cpp_does_not_read_beta_fast_for_llama) {
  // 10000^(-26/64) (1 - 0.75 / 13), the ramp from 12 to 25; by the file's beta 0.0144653796.
  auto file = small().set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 4.0f);
  auto const model = read(file.set("llama.rope.scaling.yarn_beta_fast", 1024.0f));
  expect_near(inv_freq(model.kinds[0])[13], 0.0223456368, 1e-8, "pair 13");
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
}

TEST(gguf, shows_what_a_file_calls_its_keys) {
  EXPECT_EQ(
      refusal(small().set("llama.rope.a\nb\x1b[2J", 1.0f)),
      "posenc: m.gguf: llama.rope.a?b?[2J must be a key that is read for llama: its name says "
      "that it acts on positions, scores or the mask, got 1");
  auto file = gguf_models::common("newcomer", {2, 8192, 256, 4, 4});
  auto const bytes = file.set("newcomer.rope.name", R"(a"b\c)").str();
  auto const model =
      read_gguf(gguf_metadata(bytes_of(bytes), "m.gguf"), {.unknown = unknown_model::as_llama});
  EXPECT_EQ(model.ignored.at(0), (model_setting{"newcomer.rope.name", R"("a\"b\\c")"}));
}

TEST(gguf, refuses_nan) {
  EXPECT_EQ(refusal(small().set("llama.rope.freq_base", not_a_number())),
            "posenc: m.gguf: llama.rope.freq_base must be a finite number, got NaN");
  std::vector<float> factors(32, 1.0f);
  factors[7] = float_of_bits(0x7fc00000);
  EXPECT_EQ(refusal(small().tensor("rope_freqs.weight", factors)),
            "posenc: m.gguf: rope_freqs.weight must have finite factors above 0, got NaN");
}

}  // namespace of_gguf
}  // namespace
