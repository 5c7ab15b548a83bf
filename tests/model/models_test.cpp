#include "golden/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "golden/published.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/model/hugging_face.hpp"

namespace golden {

void PrintTo(model const& m, std::ostream* out) { *out << m.name; }

}  // namespace golden

namespace {
namespace of_models {

using golden::rope_rule;

std::filesystem::path tests() {
  return std::filesystem::path(__FILE__).parent_path().parent_path();
}
std::filesystem::path shipped() {
  return tests().parent_path() / "examples" / "models";
}
std::filesystem::path published() { return tests() / "model" / "published"; }

std::string_view name_of(rope_rule rule) {
  switch (rule) {
    case rope_rule::plain:
      return "default";
    case rope_rule::linear:
      return "linear";
    case rope_rule::llama3:
      return "llama3";
    case rope_rule::yarn:
      return "yarn";
    case rope_rule::longrope:
      return "longrope";
    case rope_rule::proportional:
      return "proportional";
  }
  return "";
}

std::vector<double> frequencies_of(golden::rope const& r, bool beyond_trained) {
  auto const list = [](std::span<double const> s) {
    return std::vector<double>(s.begin(), s.end());
  };
  switch (r.rule) {
    case rope_rule::plain:
      return oracle::default_rule(r.rotary_dim, r.base);
    case rope_rule::linear:
      return oracle::linear_rule(oracle::default_rule(r.rotary_dim, r.base), r.factor);
    case rope_rule::llama3:
      return oracle::llama3_rule(oracle::default_rule(r.rotary_dim, r.base), r.factor,
                                 r.low_freq_factor, r.high_freq_factor, r.trained);
    case rope_rule::yarn:
      return oracle::yarn_rule(r.rotary_dim, r.base, r.factor, r.trained, r.beta_fast, r.beta_slow,
                               r.truncate);
    case rope_rule::longrope:
      return oracle::longrope_rule(r.rotary_dim, r.base, list(r.short_factors),
                                   list(r.long_factors), r.trained,
                                   beyond_trained ? r.trained + 1 : r.trained);
    case rope_rule::proportional:
      return oracle::proportional_rule(r.rotary_dim, r.base, r.p, r.factor);
  }
  return {};
}

/// The axis of a pair: contiguous sections in Qwen2-VL, interleaved axes in Qwen3-VL.
std::size_t axis_of(golden::rope const& r, std::size_t pair) {
  if (r.interleaved_axes) return pair % 3 != 0 && pair < 3 * r.sections[pair % 3] ? pair % 3 : 0;
  if (pair < r.sections[0]) return 0;
  return pair < r.sections[0] + r.sections[1] ? 1 : 2;
}

constexpr double relative = 1e-12;

void expect_near(double actual, double expected, std::string const& what) {
  EXPECT_NEAR(actual, expected, relative * std::abs(expected)) << what;
}

/// Calls check(the kind that was read, the expected kind) for each kind.
void each_kind(golden::model const& model, posenc::model_description const& encoding,
               auto const& check) {
  std::set<char> seen;
  for (std::size_t layer = 0; layer < model.layers; ++layer) {
    auto const& expected = model.kind_of(layer);
    if (!seen.insert(expected.letter).second) continue;
    SCOPED_TRACE("layer " + std::to_string(layer));
    check(encoding.kind_of(layer), expected);
  }
}

void expect_each_layer_of_its_kind(golden::model const& model,
                                   posenc::model_description const& encoding) {
  ASSERT_EQ(encoding.layers, model.layers);
  std::map<char, std::string> names;
  for (std::size_t layer = 0; layer < encoding.layers; ++layer) {
    auto const [at, is_first] =
        names.try_emplace(model.kind_of(layer).letter, encoding.kind_of(layer).name);
    EXPECT_EQ(encoding.kind_of(layer).name, at->second) << "layer " << layer;
  }
  EXPECT_EQ(encoding.kinds.size(), names.size());
}

void expect_frequencies(posenc::layer_description const& kind, golden::layer_kind const& expected) {
  ASSERT_EQ(kind.rotary.size(), expected.rotary ? expected.rotary->blocks : 0);
  for (auto const& rotary : kind.rotary) {
    auto const trained = static_cast<std::size_t>(expected.rotary->trained);
    for (bool const beyond : {false, true}) {
      auto const f = rotary.frequencies.at(trained + (beyond ? 1 : 0));
      auto const must = frequencies_of(*expected.rotary, beyond);
      ASSERT_EQ(f.pairs(), must.size());
      for (std::size_t i = 0; i < must.size(); ++i)
        expect_near(f.inv_freq()[i], must[i], "pair " + std::to_string(i));
      auto const is_long = beyond && expected.rotary->rule == rope_rule::longrope;
      for (auto const& [pair, inv_freq] :
           is_long ? expected.rotary->long_values : expected.rotary->values) {
        expect_near(f.inv_freq()[pair], inv_freq, "golden pair " + std::to_string(pair));
      }
      expect_near(f.attention_factor(), expected.rotary->attention_factor, "attention factor");
    }
    EXPECT_EQ(rotary.frequencies.depends_on_length(), expected.rotary->rule == rope_rule::longrope);
  }
}

void expect_pairs(posenc::layer_description const& kind, golden::layer_kind const& expected) {
  EXPECT_EQ(kind.head_dim, expected.head_dim);
  for (std::size_t block = 0; block < kind.rotary.size(); ++block) {
    ASSERT_TRUE(expected.rotary);
    auto const& must = *expected.rotary;
    auto const& rotary = kind.rotary[block];
    EXPECT_EQ(rotary.rule, name_of(must.rule));
    EXPECT_EQ(std::holds_alternative<posenc::interleaved>(rotary.layout), must.interleaved);
    auto const first = must.last ? expected.head_dim - must.rotary_dim : block * must.rotary_dim;
    EXPECT_EQ(rotary.block.first_dim(kind.head_dim, must.rotary_dim), first);
    bool const has_axes = must.sections[0] != 0 || must.blocks > 1;
    ASSERT_EQ(rotary.axes.has_value(), has_axes);
    for (std::size_t pair = 0; has_axes && pair < must.rotary_dim / 2; ++pair) {
      EXPECT_EQ(rotary.axes->axis(pair), must.blocks > 1 ? block : axis_of(must, pair))
          << "pair " << pair;
    }
  }
}

void expect_scale(posenc::layer_description const& kind, golden::layer_kind const& expected) {
  expect_near(kind.softmax_factor, expected.softmax_factor, "softmax factor");
  ASSERT_EQ(kind.temperature.has_value(), expected.temperature.has_value());
  if (!kind.temperature) return;
  EXPECT_EQ(kind.temperature->scale, expected.temperature->scale);
  EXPECT_EQ(kind.temperature->floor_scale, expected.temperature->floor_scale);
  EXPECT_EQ(kind.temperature->offset, expected.temperature->offset);
}

void expect_seen_keys(posenc::layer_description const& kind, golden::layer_kind const& expected) {
  EXPECT_EQ(kind.window.value_or(0), expected.window);
  EXPECT_EQ(kind.chunk.value_or(0), expected.chunk);
  EXPECT_EQ(kind.sinks, expected.sinks);
  EXPECT_EQ(kind.score_cap.value_or(0), expected.score_cap);
}

void expect_bias(posenc::layer_description const& kind, golden::layer_kind const& expected) {
  ASSERT_EQ(kind.alibi.has_value(), expected.alibi_heads != 0);
  if (kind.alibi) {
    EXPECT_EQ(kind.alibi->heads, expected.alibi_heads);
    EXPECT_EQ(kind.alibi->max_bias, 8);
  }
  ASSERT_EQ(kind.buckets.has_value(), expected.buckets != 0);
  if (kind.buckets) {
    EXPECT_EQ(kind.buckets->buckets, expected.buckets);
    EXPECT_EQ(kind.buckets->max_distance, expected.bucket_distance);
  }
}

class models : public testing::TestWithParam<golden::model> {};

TEST_P(models, are_read_as_their_code_has_them) {
  auto const& model = GetParam();
  auto const file = std::string(model.name) + ".json";
  auto const path = exists(shipped() / file) ? shipped() / file : published() / file;
  auto const encoding = posenc::read_hugging_face(path);
  expect_each_layer_of_its_kind(model, encoding);
  for (auto const check :
       {expect_frequencies, expect_pairs, expect_scale, expect_seen_keys, expect_bias})
    each_kind(model, encoding, check);
}

std::string test_name(testing::TestParamInfo<golden::model> const& tested) {
  std::string name(tested.param.name);
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(shipped, models, testing::ValuesIn(golden::models), test_name);
INSTANTIATE_TEST_SUITE_P(published, models, testing::ValuesIn(golden::published), test_name);

TEST(published_models, choose_keys_by_the_index_heads_of_their_code) {
  struct expected {
    char const* name;
    std::size_t layer, heads, chosen, block, key_stride;
    bool is_interleaved, is_last;
  };
  for (auto const& [name, layer, heads, chosen, block, key_stride, is_interleaved, is_last] :
       {expected{"deepseek-v3.2", 0, 64, 2048, 1, 1, false, false},
        expected{"deepseek-v4-pro", 2, 64, 1024, 1, 4, true, true},
        expected{"deepseek-v4-ref", 2, 64, 512, 1, 4, true, true},
        expected{"glm-5", 0, 32, 2048, 1, 1, true, false},
        expected{"glm-5.2", 6, 32, 2048, 1, 1, true, false},
        expected{"minimax-m3-text", 3, 4, 16, 128, 1, false, false},
        expected{"minimax-m3-vl", 59, 4, 16, 128, 1, false, false}}) {
    auto const model = posenc::read_hugging_face(published() / (std::string(name) + ".json"));
    auto const& index = model.kind_of(layer).index;
    ASSERT_TRUE(index) << name;
    EXPECT_EQ(index->heads, heads) << name;
    EXPECT_EQ(index->head_dim, 128u) << name;
    EXPECT_EQ(index->chosen, chosen) << name;
    EXPECT_EQ(index->block, block) << name;
    EXPECT_EQ(index->key_stride, key_stride) << name;
    EXPECT_EQ(std::holds_alternative<posenc::interleaved>(index->rotary.layout), is_interleaved);
    EXPECT_EQ(index->rotary.block.first_dim(128, 64), is_last ? 64u : 0u) << name;
  }
  for (auto const& [name, layer] : {std::pair{"deepseek-v4-pro", 0},
                                    {"glm-5.2", 3},
                                    {"minimax-m3-text", 2},
                                    {"kimi-k2.7-code", 0}}) {
    auto const model = posenc::read_hugging_face(published() / (std::string(name) + ".json"));
    EXPECT_FALSE(model.kind_of(static_cast<std::size_t>(layer)).index) << name;
  }
}

TEST(model_files, are_those_with_golden_values) {
  std::set<std::string> files, known;
  for (auto const& folder : {shipped(), published()}) {
    for (auto const& file : std::filesystem::directory_iterator(folder))
      EXPECT_TRUE(files.insert(file.path().filename().string()).second);
  }
  for (auto const& model : golden::models) known.insert(std::string(model.name) + ".json");
  for (auto const& model : golden::published) known.insert(std::string(model.name) + ".json");
  EXPECT_EQ(files, known);
}

}  // namespace of_models
}  // namespace
