#include "posenc/model/gguf_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/yarn.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using detail::gguf_group;
using std::uint32_t;

model_description read(gguf_writer const& file) {
  auto const bytes = file.str();
  return read_gguf(gguf_metadata(bytes_of(bytes), "m.gguf"));
}
model_description read(gguf_header const& header) {
  auto const bytes = header.bytes();
  return read_gguf(gguf_metadata(bytes, "written"));
}

/// Everything that a description says but its findings.
void expect_same(rotary_description const& a, rotary_description const& b, double tolerance) {
  if (tolerance == 0) {
    EXPECT_EQ(a.rule, b.rule);
    EXPECT_EQ(a.parameters, b.parameters);
    EXPECT_EQ(a.has_pair_factors, b.has_pair_factors);
  }
  EXPECT_EQ(a.layout.index(), b.layout.index());
  EXPECT_EQ(a.axes, b.axes);
  for (std::size_t const length : {1u, 1000u, 100'000u, 1u << 30}) {
    auto const f = a.frequencies.at(length), g = b.frequencies.at(length);
    ASSERT_EQ(f.pairs(), g.pairs());
    EXPECT_EQ(a.block.first_dim(65'536, f.rotary_dim()), b.block.first_dim(65'536, f.rotary_dim()));
    for (std::size_t i = 0; i < f.pairs(); ++i)
      EXPECT_NEAR(f.inv_freq()[i], g.inv_freq()[i], tolerance * f.inv_freq()[i]) << "pair " << i;
    // The file holds a quotient of doubles, as f32.
    auto const gain = f.attention_factor();
    EXPECT_NEAR(gain, g.attention_factor(), std::max(tolerance, 0x1p-50) * gain);
  }
}
void expect_same(layer_description const& a, layer_description const& b, double tolerance) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.head_dim, b.head_dim);
  ASSERT_EQ(a.rotary.size(), b.rotary.size());
  for (std::size_t i = 0; i < a.rotary.size(); ++i)
    expect_same(a.rotary[i], b.rotary[i], tolerance);
  ASSERT_EQ(a.alibi.has_value(), b.alibi.has_value());
  EXPECT_EQ(a.alibi ? a.alibi->max_bias : 0, b.alibi ? b.alibi->max_bias : 0);
  EXPECT_EQ(a.buckets.has_value(), b.buckets.has_value());
  ASSERT_EQ(a.temperature.has_value(), b.temperature.has_value());
  if (a.temperature) {
    EXPECT_EQ(a.temperature->scale, b.temperature->scale);
    EXPECT_EQ(a.temperature->floor_scale, b.temperature->floor_scale);
  }
  EXPECT_NEAR(a.softmax_factor, b.softmax_factor, 0x1p-48 * a.softmax_factor);
  EXPECT_EQ(a.score_cap, b.score_cap);
  EXPECT_EQ(a.window, b.window);
  EXPECT_EQ(a.chunk, b.chunk);
  EXPECT_EQ(a.pooled, b.pooled);
  ASSERT_EQ(a.index.has_value(), b.index.has_value());
  if (!a.index) return;
  EXPECT_EQ(a.index->heads, b.index->heads);
  EXPECT_EQ(a.index->head_dim, b.index->head_dim);
  EXPECT_EQ(a.index->chosen, b.index->chosen);
  EXPECT_EQ(a.index->block, b.index->block);
  EXPECT_EQ(a.index->local_blocks, b.index->local_blocks);
  EXPECT_EQ(a.index->key_stride, b.index->key_stride);
  expect_same(a.index->rotary, b.index->rotary, tolerance);
}
/// `tolerance` is of frequencies, relative; 0: everything is the same to the last bit.
void expect_same(model_description const& a, model_description const& b, double tolerance = 0) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.context, b.context);
  EXPECT_EQ(a.embedding, b.embedding);
  ASSERT_EQ(a.kinds.size(), b.kinds.size());
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    SCOPED_TRACE(a.kinds[i].name);
    expect_same(a.kinds[i], b.kinds[i], tolerance);
  }
}

/// Random settings for any architecture, in the keys that llama.cpp reads for it.
class random_file {
 public:
  random_file(detail::gguf_architecture const& known, std::uint64_t seed)
      : known_(known), name_(known.name), random_(seed) {}

  gguf_writer operator()() {
    auto const layers = known_.alibi_layers != 0 ? 8 : uint32_t(8 * upto(1, 4));
    auto const dim = 32u * upto(1, 8), heads = 4u;
    auto file =
        gguf_models::common(name_, {layers, 1000 * upto(1, 100), dim * heads, heads, heads});
    auto const set = [&](char const* key, auto value) { file.set(name_ + "." + key, value); };
    auto const reads = [&](unsigned group) { return (known_.reads & group) != 0; };
    auto const rotary = known_.whole_head ? dim : 4u * upto(1, dim / 4);
    set(reads(gguf_group::latent_length) ? "attention.key_length_mla" : "attention.key_length",
        dim);
    set("rope.dimension_count", rotary);
    if (known_.only_base == 0) set("rope.freq_base", number(2, 1e7f));
    if (reads(gguf_group::local_base) && maybe()) set("rope.freq_base_swa", number(2, 1e7f));
    if (reads(gguf_group::window) && (known_.compressed || known_.chunk == 0)) {
      set("attention.sliding_window", 2 * upto(1, 1000));
      if (reads(gguf_group::pattern)) write_pattern(file, layers);
    }
    if (known_.rope_on_dense || known_.index.after_dense)
      set("leading_dense_block_count", upto(0, layers - 1));
    auto const pairs = rotary / 2 / (known_.half_on_full ? 2 : 1);
    write_scaling(file, pairs);
    bool const needs_axes = known_.rope == detail::gguf_rope_type::mrope ||
                            known_.rope == detail::gguf_rope_type::imrope;
    if (reads(gguf_group::sections) && (needs_axes || maybe())) {
      auto const h = static_cast<std::int32_t>(upto(1, pairs / 3 + 1));
      auto const n = static_cast<std::int32_t>(pairs);
      file.list(name_ + ".rope.dimension_sections", std::vector<std::int32_t>{n - h, h, 0, 0});
    }
    if (reads(gguf_group::interval) && maybe()) set("full_attention_interval", upto(1, layers));
    if (reads(gguf_group::finetuned) && maybe()) set("rope.scaling.finetuned", maybe());
    if (reads(gguf_group::scale) && maybe()) set("attention.scale", number(0.01f, 1));
    if (reads(gguf_group::output_scale) && maybe()) set("attention.output_scale", number(0.01f, 1));
    if (reads(gguf_group::cap)) set("attn_logit_softcapping", number(1, 100));
    if (reads(gguf_group::temperature) && maybe()) {
      set("attention.temperature_scale", number(0.01f, 1));
      if (reads(gguf_group::temperature_length)) set("attention.temperature_length", upto(1, 9999));
    }
    if (reads(gguf_group::max_bias) && maybe()) set("attention.max_alibi_bias", number(1, 16));
    if (reads(gguf_group::bucket_count)) set("attention.relative_buckets_count", upto(1, 64));
    if (reads(gguf_group::index)) {
      set("attention.indexer.head_count", upto(1, 64));
      set("attention.indexer.key_length", rotary + upto(0, 64));
      set("attention.indexer.top_k", upto(1, 4096));
    }
    if (reads(gguf_group::index_blocks)) {
      set("attention.indexer.block_size", upto(1, 512));
      set("attention.indexer.local_blocks", upto(0, 4));
    }
    if (reads(gguf_group::compression)) {
      std::vector<std::int32_t> ratios;
      for (uint32_t i = 0; i < layers; ++i)
        ratios.push_back(std::vector<std::int32_t>{0, 4, 128}[upto(0, 2)]);
      file.list(name_ + ".attention.compress_ratios", ratios);
      set("attention.compress_rope_freq_base", number(2, 1e7f));
    }
    return file;
  }

 private:
  uint32_t upto(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random_);
  }
  bool maybe() { return upto(0, 1) == 1; }
  float number(float least, float most) {
    auto const share = std::uniform_real_distribution<double>(0, 1)(random_);
    return static_cast<float>(least * std::pow(double{most} / double{least}, share));
  }

  void write_pattern(gguf_writer& file, uint32_t layers) {
    auto const key = name_ + ".attention.sliding_window_pattern";
    if ((known_.reads & gguf_group::pattern_list) == 0) return void(file.set(key, upto(0, layers)));
    std::vector<bool> slides;
    for (uint32_t i = 0; i < layers; ++i) slides.push_back(maybe());
    file.list(key, slides);
  }

  void write_scaling(gguf_writer& file, uint32_t pairs) {
    auto const set = [&](char const* key, auto value) { file.set(name_ + "." + key, value); };
    auto const reads = [&](unsigned group) { return (known_.reads & group) != 0; };
    bool const has_tensor = reads(gguf_group::pair_factors) && maybe();
    bool const has_lists = !has_tensor && reads(gguf_group::length_factors) && maybe();
    auto const list = [&] {
      std::vector<float> factors;
      for (uint32_t i = 0; i < pairs; ++i) factors.push_back(i % 7 == 5 ? 1e30f : number(0.5f, 64));
      return factors;
    };
    auto const type = has_lists ? 0 : upto(0, 2);
    if (maybe()) set("rope.scaling.attn_factor", number(0.5f, 2));
    if (type == 1) set("rope.scaling.type", "linear");
    if (type == 2) set("rope.scaling.type", "yarn");
    if (type != 0 || has_lists) set("rope.scaling.original_context_length", 1000 * upto(1, 32));
    if (type != 0) set("rope.scaling.factor", number(0.5f, 64));
    if (type == 2 && reads(gguf_group::yarn_betas)) {
      set("rope.scaling.yarn_beta_fast", number(8, 64));
      set("rope.scaling.yarn_beta_slow", number(0.5f, 8));
    }
    if (type == 2 && reads(gguf_group::yarn_ext_factor) && maybe())
      set("rope.scaling.yarn_ext_factor", number(0.1f, 1));
    if (type == 2 && reads(gguf_group::yarn_log_multiplier) && maybe())
      set("rope.scaling.yarn_log_multiplier", number(0.01f, 1));
    if (reads(gguf_group::base_alpha) && maybe()) set("rope.scaling.alpha", number(1, 1000));
    if (has_tensor) {
      auto factors = list();
      if (known_.shared_factors) factors.resize(4 * factors.size(), 1.0f);
      file.tensor("rope_freqs.weight", factors);
    }
    if (has_lists) file.tensor("rope_factors_long.weight", list());
    if (has_lists) file.tensor("rope_factors_short.weight", list());
  }

  detail::gguf_architecture known_;
  std::string name_;
  std::mt19937_64 random_;
};

TEST(gguf_writer, writes_what_it_read_for_every_architecture) {
  for (auto const& known : detail::gguf_architectures::all) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(std::string(known.name) + ", seed " + std::to_string(seed));
      auto const file = random_file(known, seed)();
      try {
        auto const model = read(file);
        auto const per_head = model.kinds[0].head_dim;
        auto const header =
            write_gguf(model, known.name, {.heads = 4, .kv_heads = 4, .embedding = 4 * per_head});
        EXPECT_TRUE(header.notes.empty() || header.notes[0].starts_with("Sinks"));
        expect_same(model, read(header));
      } catch (std::invalid_argument const& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

/// The bytes of keys and tensors, written by the tests' own writer.
TEST(gguf_writer, writes_bytes_as_the_format_says) {
  gguf_header header;
  header.keys = {{"a.flag", true},
                 {"a.flags", std::vector<bool>{false, true}},
                 {"a.list", std::vector<std::int32_t>{1, -2}},
                 {"a.number", 1.5f},
                 {"a.text", std::string("yarn")},
                 {"a.whole", uint32_t{7}}};
  header.tensors = {{"rope_factors_long.weight", {1, 2, 3}}, {"rope_freqs.weight", {4, 5}}};
  gguf_writer expected;
  expected.set("a.flag", true).list("a.flags", std::vector<bool>{false, true});
  expected.list("a.list", std::vector<std::int32_t>{1, -2}).set("a.number", 1.5f);
  expected.set("a.text", "yarn").set("a.whole", uint32_t{7});
  expected.tensor("rope_factors_long.weight", {1, 2, 3}).tensor("rope_freqs.weight", {4, 5});
  auto const bytes = header.bytes();
  auto const text = expected.str();
  auto const must = bytes_of(text);
  EXPECT_TRUE(std::ranges::equal(bytes, must));
  EXPECT_EQ(gguf_header{}.bytes().size(), 24u);
}

/// Each key that a converter writes and that acts is written with the same value; context_length
/// is as good as an original_context_length that is absent.
class converted_models : public testing::TestWithParam<gguf_models::model> {};

TEST_P(converted_models, have_the_keys_that_converters_write) {
  auto const text = GetParam().file().str();
  gguf_metadata const file(bytes_of(text), "m.gguf");
  auto const model = read_gguf(file);
  auto const count = [&](char const* name) { return *file.count(model.type + name, 0, 1u << 20); };
  auto const header = write_gguf(model, model.type,
                                 {.heads = count(".attention.head_count"),
                                  .kv_heads = count(".attention.head_count_kv"),
                                  .embedding = count(".embedding_length")});
  auto const bytes = header.bytes();
  gguf_metadata const written(bytes, "written");
  for (auto const& setting : model.read) {
    SCOPED_TRACE(setting.key);
    ASSERT_TRUE(written.has(setting.key) || setting.value == "\"none\"" || setting.value == "0");
    if (!written.has(setting.key)) continue;
    if (file.is_list(setting.key)) {
      auto list = *file.numbers(setting.key);
      auto const must = *written.numbers(setting.key);
      ASSERT_GE(list.size(), must.size());
      list.resize(must.size());
      EXPECT_EQ(list, must);
    } else {
      EXPECT_EQ(detail::shown_gguf(file.keys().at(setting.key)),
                detail::shown_gguf(written.keys().at(setting.key)));
    }
  }
  for (auto const tensor : gguf_metadata::rope_tensors)
    EXPECT_EQ(file.values(tensor), written.values(tensor)) << tensor;
  EXPECT_EQ(file.count(model.type + ".embedding_length", 0, 1u << 20),
            written.count(model.type + ".embedding_length", 0, 1u << 20));
}

INSTANTIATE_TEST_SUITE_P(real, converted_models, testing::ValuesIn(gguf_models::all),
                         [](auto const& tested) {
                           std::string name(tested.param.name);
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

// What has no keys, and what is said.

layer_description rotating(frequencies_by_length f, std::vector<model_setting> parameters) {
  layer_description kind{.name = "full_attention", .head_dim = 8};
  kind.rotary.push_back({.rule = "default",
                         .frequencies = std::move(f),
                         .layout = interleaved(),
                         .parameters = std::move(parameters)});
  return kind;
}
layer_description plain() {
  return rotating(geometric(8, 1e4), {{"rope_type", "\"default\""}, {"rope_theta", "10000"}});
}
model_description of(layer_description kind, std::size_t layers = 4) {
  model_description model{.type = "by hand", .layers = layers, .kinds = {}};
  for (std::size_t i = 0; i < layers; ++i) kind.layers.push_back(i);
  model.kinds.push_back(std::move(kind));
  return model;
}
constexpr gguf_surroundings all_given{.heads = 4, .kv_heads = 4, .embedding = 32, .context = 512};
std::string refusal(model_description const& model, std::string_view architecture,
                    gguf_surroundings const& around = {.heads = 4}) {
  return message_of([&] { write_gguf(model, architecture, around); });
}
std::string has_none(std::string const& architecture, std::string const& what) {
  return "posenc: write_gguf: " + architecture +
         " must have keys for all that the model does, and has none for this: " + what;
}

TEST(gguf_writer, refuses_what_an_architecture_has_no_key_for) {
  auto const with = [](auto const& change) {
    auto kind = plain();
    change(kind);
    return of(std::move(kind));
  };
  auto const slides = with([](auto& kind) { kind.window = 4096; });
  EXPECT_EQ(refusal(slides, "llama"),
            has_none("llama", "the window of layer 0 is 4096, and they say 0"));
  EXPECT_EQ(refusal(with([](auto& kind) { kind.score_cap = 50; }), "llama"),
            has_none("llama", "the cap of scores of layer 0 is 50, and they say 0"));
  EXPECT_EQ(refusal(of(plain()), "gemma2"),
            has_none("gemma2", "the cap of scores of layer 0 is 0, and they say 50"));
  EXPECT_EQ(refusal(with([](auto& kind) { kind.softmax_factor = 2; }), "llama"),
            has_none("llama", "the factor on scores of layer 0 is 2, and they say 1"));
  EXPECT_EQ(refusal(with([](auto& kind) { kind.sinks = true; }), "llama"),
            has_none("llama", "sinks of full_attention"));
  EXPECT_EQ(refusal(with([](auto& kind) {
                      kind.rotary[0].axes = contiguous_axes({2, 1, 1});
                    }),
                    "llama"),
            has_none("llama", "the axes of pairs of layer 0"));
  EXPECT_EQ(refusal(with([](auto& kind) {
                      kind.alibi = alibi_bias{4, 8};
                    }),
                    "llama"),
            has_none("llama", "the number of heads with ALiBi of layer 0 is 4, and they say 0"));
  EXPECT_EQ(refusal(with([](auto& kind) { kind.rotary.clear(); }), "llama"),
            has_none("llama", "the number of rotary blocks of layer 0 is 0, and they say 1"));
  frequencies_by_length const by_length(
      [](std::size_t n) { return geometric(8, n > 4096 ? 2e4 : 1e4); });
  EXPECT_EQ(
      refusal(of(rotating(by_length, plain().rotary[0].parameters)), "llama"),
      has_none("llama",
               "frequencies of layer 0 that change from length 4097 on, by the rule default"));
}

/// YaRN with a parameter that gpt-oss has no key for.
model_description yarn_of(yarn_scaling const& scaling) {
  auto const text = [](double x) { return detail::shown(x); };
  auto model = of(rotating(yarn(32, 1.5e5, scaling),
                           {{"rope_type", "\"yarn\""},
                            {"rope_theta", "150000"},
                            {"factor", text(scaling.factor)},
                            {"original_max_position_embeddings", text(scaling.original_length)},
                            {"beta_fast", text(scaling.beta_fast)},
                            {"beta_slow", text(scaling.beta_slow)},
                            {"truncate", scaling.truncate ? "true" : "false"}}));
  model.kinds[0].head_dim = 32;
  model.kinds[0].rotary[0].rule = "yarn";
  model.kinds[0].rotary[0].layout = halves();
  return model;
}

TEST(gguf_writer, names_the_parameter_of_a_rule_that_has_no_key) {
  auto const ends = [](std::string const& text, std::string const& end) {
    EXPECT_TRUE(text.ends_with(end)) << text;
    EXPECT_NE(text.find("inv_freq of pair "), std::string::npos) << text;
  };
  yarn_scaling const scaling{.factor = 32, .original_length = 4096, .truncate = false};
  ends(refusal(yarn_of(scaling), "qwen2"),
       " at length 1: truncate of the rule yarn is false, and they say true");
  ends(refusal(yarn_of({.factor = 32, .original_length = 4096, .beta_fast = 1}), "qwen2"),
       " at length 1: beta_fast of the rule yarn is 1, and they say 32");
  auto llama = of(rotating(llama3(geometric(8, 5e5), {8, 1, 4, 8192}), {{"rope_theta", "500000"}}));
  llama.kinds[0].rotary[0].rule = "llama3";
  ends(refusal(llama, "qwen2"), " at length 1: the rule is llama3, and they say default");
}

TEST(gguf_writer, writes_the_nearest_if_asked_and_says_what_differs) {
  auto around = all_given;
  around.nearest = true;
  auto const model = yarn_of({.factor = 32, .original_length = 4096, .truncate = false});
  auto const header = write_gguf(model, "qwen2", around);
  auto truncated = yarn_of({.factor = 32, .original_length = 4096});
  EXPECT_EQ(header.bytes(), write_gguf(truncated, "qwen2", all_given).bytes());
  ASSERT_EQ(header.notes.size(), 1u);
  auto const refused = refusal(model, "qwen2", all_given);
  auto const start = has_none("qwen2", "").size();
  EXPECT_EQ(header.notes[0], "The nearest, not the same: " + refused.substr(start) + ".");
  // What is not a number of a rotation is refused all the same.
  truncated.kinds[0].window = 512;
  EXPECT_EQ(refusal(truncated, "qwen2", around),
            has_none("qwen2", "the window of layer 0 is 512, and they say 0"));
  EXPECT_TRUE(write_gguf(of(plain()), "llama", around).notes.empty());
}

TEST(gguf_writer, refuses_a_model_without_sinks_where_llama_cpp_needs_them) {
  EXPECT_EQ(refusal(of(plain()), "gpt-oss"), has_none("gpt-oss", "full_attention without sinks"));
  auto latent = of(plain());
  latent.kinds[0].rotary[0].block = rotary_block::last();
  EXPECT_EQ(refusal(latent, "deepseek4"), has_none("deepseek4", "full_attention without sinks"));
  latent.kinds[0].sinks = true;
  EXPECT_EQ(write_gguf(latent, "deepseek4", {.heads = 4}).notes.back(),
            "Sinks are weights: the tensors blk.N.attn_sinks.weight.");
  auto const mimo = write_gguf(of(plain()), "mimo2", all_given);  // it can do without
  EXPECT_EQ(mimo.notes.size(), 1u);
}

TEST(gguf_writer, refuses_a_pattern_of_layers_that_llama_cpp_would_ignore) {
  auto model = of(plain(), 3);
  model.kinds.push_back(plain());
  model.kinds[0].layers = {0, 1};
  model.kinds[1].layers = {2};
  model.kinds[0].window = 512;
  auto const written = write_gguf(model, "mimo2", {.heads = 4});
  EXPECT_EQ(written.keys.at("mimo2.attention.sliding_window_pattern"),
            gguf_written_value(std::vector<bool>{true, true, false}));
  EXPECT_EQ(
      write_gguf(model, "afmoe", {.heads = 4}).keys.at("afmoe.attention.sliding_window_pattern"),
      gguf_written_value(uint32_t{3}));
  std::swap(model.kinds[0].layers, model.kinds[1].layers);  // full, full, sliding
  EXPECT_NO_THROW(write_gguf(model, "mimo2", {.heads = 4}));
  EXPECT_EQ(refusal(model, "olmo2").find(has_none("olmo2", "")), 0u);
}

TEST(gguf_writer, writes_a_rule_without_keys_as_factors) {
  auto const f = llama3(geometric(8, 5e5), {8, 1, 4, 8192});
  auto model = of(rotating(f, {{"rope_theta", "500000"}}));
  model.kinds[0].rotary[0].rule = "llama3";
  auto const header = write_gguf(model, "llama", all_given);
  auto const& factors = header.tensors.at("rope_freqs.weight");
  ASSERT_EQ(factors.size(), 4u);
  EXPECT_EQ(factors[0], 1.0f);
  EXPECT_EQ(factors[3], 8.0f);
  EXPECT_TRUE(header.notes.empty());
  EXPECT_NE(refusal(model, "qwen2").find("qwen2 must have keys for all"), std::string::npos);
}

TEST(gguf_writer, says_what_the_weights_must_have) {
  auto const halves_of_qwen = write_gguf(of(plain()), "qwen2", all_given);
  EXPECT_EQ(halves_of_qwen.notes,
            (std::vector<std::string>{
                "Pairs are halves in files of qwen2, and not in the model: permute the rows of W_q "
                "and W_k, as relayout_rows does."}));
  EXPECT_TRUE(write_gguf(of(plain()), "llama", all_given).notes.empty());
}

TEST(gguf_writer, says_what_was_not_given) {
  auto model = of(plain());
  auto const assumed = write_gguf(model, "llama", {.heads = 4});
  EXPECT_EQ(assumed.notes, (std::vector<std::string>{
                               "llama.context_length is not given, and llama.cpp requires it.",
                               "llama.attention.head_count_kv is not given: 4, as many as heads.",
                               "llama.embedding_length is not given: 32, heads * head_dim."}));
  EXPECT_EQ(assumed.keys.at("llama.attention.head_count_kv"), gguf_written_value(uint32_t{4}));
  EXPECT_FALSE(assumed.keys.contains("llama.context_length"));
  auto const given = write_gguf(model, "llama", {.heads = 4, .kv_heads = 2, .context = 512});
  EXPECT_EQ(given.keys.at("llama.attention.head_count_kv"), gguf_written_value(uint32_t{2}));
  EXPECT_EQ(given.keys.at("llama.context_length"), gguf_written_value(uint32_t{512}));
  EXPECT_EQ(given.notes.size(), 1u);
  model.context = 256;
  EXPECT_EQ(refusal(model, "llama", all_given),
            has_none("llama", "the context is 256, and they say 512"));
}

TEST(gguf_writer, refuses_numbers_of_heads_that_cannot_be) {
  auto model = of(plain());
  EXPECT_EQ(refusal(model, "llama", {.heads = 0}),
            "posenc: write_gguf: heads must be from 1 to 65536, got 0");
  EXPECT_EQ(refusal(model, "llama", {.heads = 65'537}),
            "posenc: write_gguf: heads must be from 1 to 65536, got 65537");
  EXPECT_EQ(refusal(model, "llama", {.heads = 4, .kv_heads = 0}),
            "posenc: write_gguf: kv_heads must divide the 4 heads, got 0");
  EXPECT_EQ(refusal(model, "llama", {.heads = 4, .kv_heads = 3}),
            "posenc: write_gguf: kv_heads must divide the 4 heads, got 3");
  EXPECT_EQ(refusal(model, "llama", {.heads = 8, .kv_heads = 3}),
            "posenc: write_gguf: kv_heads must divide the 8 heads, got 3");
  model.kinds[0].rotary.clear();
  model.kinds[0].alibi = alibi_bias{112, 8};
  EXPECT_EQ(refusal(model, "bloom", {.heads = 3}),
            "posenc: write_gguf: heads must be the 112 that ALiBi has, got 3");
  EXPECT_NO_THROW(write_gguf(model, "bloom", {.heads = 112}));
}

TEST(gguf_writer, says_what_an_architecture_needs_and_the_model_has_not) {
  auto const needs = [](std::string const& name, std::string const& what) {
    return "posenc: write_gguf: for " + name + " the model must have " + what + ", got none";
  };
  for (auto const* const name : {"qwen2vl", "qwen3vl"})
    EXPECT_EQ(refusal(of(plain()), name),
              needs(name, "pairs with axes, for rope.dimension_sections"));
  EXPECT_EQ(refusal(of(plain()), "t5"), needs("t5", "relative buckets"));
  EXPECT_EQ(refusal(of(plain()), "deepseek32"), needs("deepseek32", "heads that choose keys"));
}

TEST(gguf_writer, writes_no_key_that_is_not_read) {
  auto model = of(plain());
  model.kinds[0].buckets = bucket_bias{32, 128};
  EXPECT_EQ(refusal(model, "llama"),
            has_none("llama", "the number of buckets of layer 0 is 32, and they say 0"));
}

TEST(gguf_writer, writes_no_factors_for_layers_of_two_sizes) {
  auto model = of(rotating(llama3(geometric(8, 5e5), {8, 1, 4, 8192}), {{"rope_theta", "500000"}}));
  model.kinds.push_back(plain());
  model.kinds[0].layers = {3};
  model.kinds[1].layers = {0, 1, 2};
  model.kinds[1].window = 512;
  model.kinds[1].rotary[0].frequencies = geometric(4, 5e5);
  EXPECT_EQ(refusal(model, "exaone-moe").find(has_none("exaone-moe", "")), 0u);
}

TEST(gguf_writer, refuses_what_does_not_fit_into_a_key) {
  EXPECT_EQ(refusal(of(plain()), "novel"),
            "posenc: write_gguf: architecture must be one that is known, got novel");
  auto model = of(plain());
  model.context = std::size_t{1} << 40;
  EXPECT_EQ(refusal(model, "llama"),
            "posenc: write_gguf: llama.context_length must be at most 4294967295, got "
            "1099511627776");
  model = of(rotating(geometric(8, 1e300), {{"rope_theta", "1e+300"}}));
  EXPECT_EQ(refusal(model, "llama"),
            "posenc: write_gguf: llama.rope.freq_base must be a finite f32, got 1e+300");
  model = of(rotating(
      geometric(8, 1e4),
      {{"rope_theta", "10000"}, {"factor", "2"}, {"original_max_position_embeddings", "1e+300"}}));
  model.kinds[0].rotary[0].rule = "yarn";
  EXPECT_EQ(refusal(model, "llama"),
            "posenc: write_gguf: llama.rope.scaling.original_context_length must be at most "
            "4294967295, got 1e+300");
  model = of(plain());
  model.kinds[0].layers.pop_back();
  EXPECT_EQ(refusal(model, "llama"),
            "posenc: model_description: each layer must have a kind, got none for 3");
}

}  // namespace
