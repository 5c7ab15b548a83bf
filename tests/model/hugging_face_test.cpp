#include "posenc/model/hugging_face.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "oracle/frequency_rules.hpp"
#include "rejects.hpp"

namespace {
namespace of_hugging_face {

using namespace posenc;
using nlohmann::json;

json llama() {
  return json::parse(
      R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 256,
                         "max_position_embeddings": 8192, "rope_theta": 500000.0})");
}
json with(json config, std::string const& patch) {
  config.merge_patch(json::parse(patch));
  return config;
}
/// Sets a key to null, where with() would erase it.
json with_null(json config, std::string const& key) { return config[key] = nullptr, config; }

model_description read(json const& config) {
  return read_hugging_face(config.dump(), "config.json");
}
model_description read_as_llama(json const& config) {
  return read_hugging_face(config.dump(), "config.json", {.unknown = unknown_model::as_llama});
}
layer_description only_kind(json const& config) {
  auto const model = read(config);
  EXPECT_EQ(model.kinds.size(), 1u);
  return model.kinds.front();
}
std::vector<double> inv_freq(layer_description const& kind, std::size_t length = 1) {
  auto const f = kind.rotary.at(0).frequencies.at(length);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
std::vector<double> inv_freq(json const& config, std::size_t length = 1) {
  return inv_freq(only_kind(config), length);
}

std::string refusal(std::string const& text) {
  return message_of([&] { read_hugging_face(text, "config.json"); });
}
std::string refusal(json const& config) { return refusal(config.dump()); }

/// The value of a key in a list of settings, or nothing.
std::string value_of(std::string const& key, std::vector<model_setting> const& settings) {
  for (auto const& setting : settings) {
    if (setting.key == key) return setting.value;
  }
  return {};
}

bool mentions(std::vector<std::string> const& sentences, std::string const& part) {
  for (auto const& sentence : sentences) {
    if (sentence.find(part) != std::string::npos) return true;
  }
  return false;
}

// Several schemas for the same settings.

TEST(hugging_face, reads_rope_parameters_and_rope_scaling_alike) {
  std::string const rule =
      R"({"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024,)";
  auto const old_type = with(llama(), R"({"rope_scaling": )" + rule + R"("type": "llama3"}})");
  auto const old_rope_type =
      with(llama(), R"({"rope_scaling": )" + rule + R"("rope_type": "llama3"}})");
  auto const both_types =
      with(llama(), R"({"rope_scaling": )" + rule + R"("rope_type": "llama3", "type": "llama3"}})");
  auto fresh = with(llama(), R"({"rope_parameters": )" + rule +
                                 R"("rope_type": "llama3", "rope_theta": 500000.0}})");
  auto const both_bases = fresh;
  fresh.erase("rope_theta");
  for (auto const& config : {old_type, old_rope_type, both_types, fresh, both_bases}) {
    EXPECT_EQ(only_kind(config).rotary[0].rule, "llama3");
    EXPECT_EQ(inv_freq(config), inv_freq(old_type));
    EXPECT_TRUE(read(config).assumptions.empty());
  }
  EXPECT_NE(inv_freq(old_type), inv_freq(llama()));
}

TEST(hugging_face, the_proportional_rule_chooses_among_all_pairs_of_a_head) {
  for (double const p : {0.0, 0.1, 0.25, 1.0}) {  // 0.1 of 64 dims is no even number of them
    auto config = with(llama(), R"({"rope_parameters": {"rope_type": "proportional"}})");
    config["rope_parameters"]["partial_rotary_factor"] = p;
    auto const expected = proportional(64, 5e5, p);
    EXPECT_TRUE(std::ranges::equal(inv_freq(config), expected.inv_freq())) << p;
  }
}

TEST(hugging_face, null_is_absent) {
  auto config = llama();
  for (auto const* key : {"rope_scaling", "rope_parameters", "head_dim", "sliding_window",
                          "layer_types", "partial_rotary_factor"}) {
    config = with_null(config, key);
  }
  EXPECT_EQ(inv_freq(config), inv_freq(llama()));
  EXPECT_EQ(only_kind(config).head_dim, 64u);
  EXPECT_FALSE(only_kind(config).window);
}

TEST(hugging_face, reads_a_text_config_within) {
  json const outer{
      {"model_type", "mistral3"}, {"text_config", llama()}, {"vision_config", {{"rope_theta", 1}}}};
  EXPECT_EQ(read(outer).type, "llama");
  EXPECT_EQ(inv_freq(outer), inv_freq(llama()));
}

TEST(hugging_face, reads_each_way_to_rotate_a_part) {
  auto const half = with(llama(), R"({"partial_rotary_factor": 0.5})");
  EXPECT_EQ(inv_freq(half).size(), 16u);
  EXPECT_EQ(inv_freq(with(llama(), R"({"rotary_pct": 0.5})")), inv_freq(half));
  EXPECT_EQ(inv_freq(with(llama(), R"({"rotary_dim": 32})")), inv_freq(half));
  EXPECT_EQ(inv_freq(with(llama(), R"({"rope_parameters": {"partial_rotary_factor": 0.5}})")),
            inv_freq(half));
  EXPECT_EQ(only_kind(with(llama(), R"({"head_dim": 192, "partial_rotary_factor": 0.334})"))
                .rotary[0]
                .frequencies.at(1)
                .pairs(),
            32u);
  auto const last =
      only_kind(with(llama(), R"({"qk_nope_head_dim": 128, "qk_rope_head_dim": 64})"));
  EXPECT_EQ(last.head_dim, 192u);
  EXPECT_EQ(last.rotary[0].block.first_dim(192, 64), 128u);
}

TEST(hugging_face, reads_each_name_of_the_base) {
  auto other = llama();
  other.erase("rope_theta");
  EXPECT_TRUE(mentions(read(other).assumptions,
                       "rope_theta is not given: 10000, the default of transformers."));
  other["rotary_emb_base"] = 500000;
  EXPECT_EQ(inv_freq(other), inv_freq(llama()));
  EXPECT_TRUE(read(other).assumptions.empty());
}

TEST(hugging_face, falcon_has_alibi_if_its_flag_is_set) {
  auto const alibi = read(with(llama(), R"({"model_type": "falcon", "alibi": true})"));
  EXPECT_EQ(alibi.kinds[0].alibi->heads, 4u);
  EXPECT_EQ(alibi.kinds[0].alibi->max_bias, 8);
  EXPECT_EQ(alibi.kinds[0].alibi->factor, 0.125);
  EXPECT_TRUE(mentions(alibi.notes, "Falcon rounds the bias to bfloat16"));
  auto const rotates = read(with(llama(), R"({"model_type": "falcon", "alibi": false})"));
  EXPECT_FALSE(rotates.kinds[0].alibi);
  EXPECT_EQ(rotates.kinds[0].rotary.size(), 1u);
  EXPECT_TRUE(rotates.notes.empty());
}

TEST(hugging_face, the_base_of_chatglm_is_a_ratio) {
  auto glm = with(llama(), R"({"model_type": "chatglm", "rope_ratio": 50})");
  glm.erase("rope_theta");
  EXPECT_EQ(inv_freq(glm), oracle::default_rule(32, 50 * 1e4));
}

TEST(hugging_face, reads_old_names_of_rules) {
  json lists = with(
      llama(),
      R"({"original_max_position_embeddings": 4096, "head_dim": 4, "rope_scaling": {"short_factor": [1, 2], "long_factor": [3, 4]}})");
  lists["rope_scaling"]["type"] = "su";
  auto const su = only_kind(lists);
  EXPECT_EQ(su.rotary[0].rule, "longrope");
  EXPECT_TRUE(su.rotary[0].frequencies.depends_on_length());
  EXPECT_EQ(inv_freq(su, 4096), (oracle::per_pair_rule(oracle::default_rule(4, 5e5), {1, 2})));
  EXPECT_EQ(inv_freq(su, 4097), (oracle::per_pair_rule(oracle::default_rule(4, 5e5), {3, 4})));
  lists["rope_scaling"]["type"] = "yarn";
  EXPECT_EQ(inv_freq(lists, 4097), inv_freq(su, 4097)) << "Phi 3's first files";
  auto const sections =
      with(llama(), R"({"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}})");
  EXPECT_EQ(inv_freq(sections), inv_freq(llama()));
  EXPECT_EQ(only_kind(sections).rotary[0].axes,
            contiguous_axes(std::vector<std::size_t>{8, 12, 12}));
}

TEST(hugging_face, takes_the_original_length_from_either_place) {
  auto const rule =
      R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}})";
  auto const yarn = with(llama(), rule);
  auto beside = with(
      llama(),
      R"({"rope_scaling": {"type": "yarn", "factor": 4}, "original_max_position_embeddings": 2048})");
  EXPECT_EQ(inv_freq(beside), inv_freq(yarn));
  auto const no_factor = with(
      llama(), R"({"rope_scaling": {"type": "yarn", "original_max_position_embeddings": 2048}})");
  EXPECT_EQ(inv_freq(no_factor), inv_freq(yarn));
  EXPECT_TRUE(mentions(
      read(no_factor).assumptions,
      "factor is not given: max_position_embeddings / original_max_position_embeddings, 4."));
  auto const other_factor = with(
      llama(),
      R"({"rope_scaling": {"type": "yarn", "factor": 8, "original_max_position_embeddings": 2048}})");
  EXPECT_TRUE(mentions(read(other_factor).notes,
                       "factor is 8 although max_position_embeddings is 4 times the original."));
  auto const no_original = with(llama(), R"({"rope_scaling": {"type": "yarn", "factor": 4}})");
  EXPECT_TRUE(
      mentions(read(no_original).assumptions,
               "original_max_position_embeddings is not given: max_position_embeddings, 8192."));
}

TEST(hugging_face, dynamic_ntk_follows_the_length) {
  auto const kind =
      only_kind(with(llama(), R"({"rope_scaling": {"type": "dynamic", "factor": 2}})"));
  EXPECT_EQ(kind.rotary[0].rule, "dynamic");
  EXPECT_TRUE(kind.rotary[0].frequencies.depends_on_length());
  EXPECT_EQ(inv_freq(kind, 8192), inv_freq(llama()));
  auto const longer = inv_freq(kind, 16384),
             expected = oracle::dynamic_ntk_rule(64, 5e5, 2, 8192, 16384);
  for (std::size_t i = 0; i < longer.size(); ++i)
    EXPECT_NEAR(longer[i], expected[i], 1e-12 * expected[i]);
  auto const hunyuan = only_kind(
      with(llama(), R"({"rope_scaling": {"type": "dynamic", "factor": 1, "alpha": 1000}})"));
  EXPECT_EQ(hunyuan.rotary[0].rule, "ntk");
  auto const alpha = inv_freq(hunyuan);
  auto const fixed = oracle::ntk_rule(64, 5e5, 1000);
  for (std::size_t i = 0; i < alpha.size(); ++i) EXPECT_NEAR(alpha[i], fixed[i], 1e-12 * fixed[i]);
}

TEST(hugging_face, nested_parameters_are_by_type_of_layer) {
  auto config = with(
      llama(),
      R"({"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 16, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 2, "rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}})");
  config.erase("rope_theta");
  auto const model = read(config);
  ASSERT_EQ(model.kinds.size(), 2u);
  EXPECT_EQ(inv_freq(model.kind_of(0)),
            oracle::linear_rule(inv_freq(with(llama(), R"({"rope_theta": 1e6})")), 2));
  EXPECT_EQ(inv_freq(model.kind_of(1)), inv_freq(with(llama(), R"({"rope_theta": 1e4})")));
  EXPECT_EQ(model.kind_of(1).window, 16u);
  EXPECT_FALSE(model.kind_of(0).window);
  config["rope_parameters"].erase("sliding_attention");
  EXPECT_EQ(refusal(config),
            "posenc: config.json: rope_parameters: sliding_attention must be given for layers of "
            "sliding_attention, and is absent");
}

TEST(hugging_face, local_base_is_of_sliding_layers_and_scaling_of_the_others) {
  auto config = with(
      llama(),
      R"({"model_type": "gemma3_text", "num_hidden_layers": 6, "sliding_window": 16, "rope_local_base_freq": 10000,
      "query_pre_attn_scalar": 64, "head_dim": 64, "rope_scaling": {"rope_type": "linear", "factor": 8}})");
  auto const model = read(config);
  EXPECT_EQ(inv_freq(model.kind_of(4)), inv_freq(with(llama(), R"({"rope_theta": 1e4})")));
  EXPECT_EQ(inv_freq(model.kind_of(5)), oracle::linear_rule(inv_freq(llama()), 8));
}

TEST(hugging_face, a_1_in_no_rope_layers_means_rope) {
  auto const model = read(with(llama(), R"({"model_type": "smollm3", "no_rope_layers": [1, 0]})"));
  EXPECT_EQ(model.kind_of(0).rotary.size(), 1u);
  EXPECT_TRUE(model.kind_of(1).rotary.empty());
}

TEST(hugging_face, windows_are_for_the_layers_that_slide) {
  auto const window = with(llama(), R"({"model_type": "mistral", "sliding_window": 100})");
  EXPECT_EQ(only_kind(window).window, 100u);
  EXPECT_FALSE(only_kind(with(window, R"({"use_sliding_window": false})")).window);
  EXPECT_FALSE(only_kind(with_null(window, "sliding_window")).window) << "null is none";
  auto absent = window;
  absent.erase("sliding_window");
  EXPECT_EQ(only_kind(absent).window, 4096u) << "absent is what the class has";
  EXPECT_TRUE(
      mentions(read(absent).assumptions, "sliding_window is not given: 4096, as mistral has it."));
  auto const ignored = with(llama(), R"({"sliding_window": 100})");
  EXPECT_FALSE(only_kind(ignored).window);
  EXPECT_TRUE(
      mentions(read(ignored).notes, "sliding_window is not read: llama has full attention."));
}

TEST(hugging_face, qwens_windows_begin_at_a_layer_where_they_are_switched_on) {
  auto const qwen =
      with(llama(), R"({"model_type": "qwen2", "sliding_window": 100, "max_window_layers": 1})");
  EXPECT_FALSE(only_kind(qwen).window);
  EXPECT_TRUE(
      mentions(read(qwen).assumptions, "use_sliding_window is not given: false, as qwen2 has it."));
  auto const on = read(with(qwen, R"({"use_sliding_window": true})"));
  EXPECT_FALSE(on.kind_of(0).window);
  EXPECT_EQ(on.kind_of(1).window, 100u);
  auto vl =
      with(qwen,
           R"({"model_type": "qwen2_5_vl_text", "use_sliding_window": true, "num_hidden_layers": 81,
                           "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}})");
  vl.erase("max_window_layers");
  EXPECT_FALSE(read(vl).kind_of(79).window);
  EXPECT_EQ(read(vl).kind_of(80).window, 100u);
  EXPECT_TRUE(mentions(read(vl).assumptions, "max_window_layers is not given: 80"));
}

TEST(hugging_face, patterns_of_windows_are_numbers_or_letters) {
  auto const cohere = with(llama(), R"({"model_type": "cohere2", "num_hidden_layers": 4})");
  auto const by_class = read(cohere);
  EXPECT_EQ(by_class.kind_of(2).window, 4096u);
  EXPECT_TRUE(by_class.kind_of(3).rotary.empty());
  EXPECT_TRUE(mentions(by_class.assumptions, "every 4th layer full_attention"));
  auto const letters =
      read(with(cohere, R"({"model_type": "exaone4", "sliding_window_pattern": "LG"})"));
  EXPECT_EQ(letters.kind_of(2).window, 4096u);
  EXPECT_TRUE(letters.kind_of(1).rotary.empty());
  auto const every_other =
      read(with(cohere, R"({"sliding_window_pattern": 2, "sliding_window": 7})"));
  EXPECT_EQ(every_other.kind_of(2).window, 7u);
  EXPECT_FALSE(every_other.kind_of(1).window);
}

TEST(hugging_face, some_patterns_have_a_full_layer_at_an_end) {
  auto const full = [](std::string const& patch) {
    auto const model = read(with(llama(), patch));
    std::string letters;
    for (std::size_t i = 0; i < model.layers; ++i) letters += model.kind_of(i).window ? 's' : 'F';
    return letters;
  };
  EXPECT_EQ(full(R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 8, "head_dim": 192})"),
            "FssssFss");
  EXPECT_EQ(full(R"({"model_type": "gemma4_text", "num_hidden_layers": 8, "rope_parameters": {
      "full_attention": {}, "sliding_attention": {}}, "rope_theta": null})"),
            "sssssFsF");
}

TEST(hugging_face, layers_without_attention_have_no_encoding) {
  auto const model = read(with(llama(), R"({"layer_types": ["conv", "attention"]})"));
  EXPECT_TRUE(model.kind_of(0).rotary.empty());
  EXPECT_EQ(model.kind_of(1).name, "full_attention");
  EXPECT_EQ(model.kind_of(1).rotary.size(), 1u);
  EXPECT_TRUE(mentions(model.notes, "conv layers have no attention"));
  EXPECT_TRUE(only_kind(with(llama(), R"({"position_embedding_type": "nope"})")).rotary.empty());
}

TEST(hugging_face, qwens_with_linear_attention_have_full_attention_in_every_4th_layer) {
  for (std::string const type : {"qwen3_next", "qwen3_5_text"}) {
    auto const config = with(llama(), R"({"num_hidden_layers": 8, "rope_parameters": {
        "rope_theta": 500000, "mrope_section": [4, 2, 2]}, "head_dim": 64})");
    auto const model = read(with(config, R"({"model_type": ")" + type + R"("})"));
    for (std::size_t i = 0; i < 8; ++i) {
      auto const expected = i % 4 == 3 ? "full_attention" : "linear_attention";
      EXPECT_EQ(model.kind_of(i).name, expected) << type << ", layer " << i;
    }
    EXPECT_TRUE(mentions(model.assumptions, "full_attention_interval is not given: 4"));
  }
}

TEST(hugging_face, llama_4_has_chunks_where_it_has_rope) {
  auto const model = read(
      with(llama(),
           R"({"model_type": "llama4_text", "num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 1],
                                            "attention_chunk_size": 16, "rope_scaling": {"rope_type": "linear", "factor": 2}})"));
  for (std::size_t const layer : {0u, 2u, 3u}) EXPECT_EQ(model.kind_of(layer).chunk, 16u);
  EXPECT_FALSE(model.kind_of(1).chunk);
  EXPECT_TRUE(model.kind_of(1).rotary.empty());
  EXPECT_TRUE(model.kind_of(1).temperature);
}

TEST(hugging_face, llama_4_may_have_no_temperature) {
  auto const model = read(with(llama(), R"({"model_type": "llama4_text", "num_hidden_layers": 4,
      "attn_temperature_tuning": false, "attn_scale": 0.1, "floor_scale": 8192})"));
  EXPECT_FALSE(model.kind_of(3).temperature);
}

TEST(hugging_face, axes_are_those_of_the_class_where_the_file_does_not_say) {
  auto const qwen3 = with(llama(), R"({"model_type": "qwen3_vl_text", "head_dim": 128})");
  EXPECT_EQ(only_kind(qwen3).rotary[0].axes,
            interleaved_axes(std::vector<std::size_t>{24, 20, 20}));
  EXPECT_TRUE(mentions(read(qwen3).assumptions, "mrope_section is not given: 24, 20, 20"));
  auto const sections =
      with(qwen3, R"({"rope_scaling": {"rope_type": "default", "mrope_section": [32, 16, 16]}})");
  EXPECT_EQ(only_kind(sections).rotary[0].axes,
            interleaved_axes(std::vector<std::size_t>{32, 16, 16}))
      << "its axes interleave";
}

TEST(hugging_face, phi_moe_has_a_factor_for_each_list) {
  auto const file = [](std::string const& factors) {
    return with(llama(),
                R"({"model_type": "phimoe", "head_dim": 4, "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4], )" +
                    factors + "}}");
  };
  auto const kind = only_kind(file(R"("short_mscale": 1.25, "long_mscale": 1.5)"));
  EXPECT_EQ(kind.rotary[0].frequencies.at(4096).attention_factor(), 1.25);
  EXPECT_EQ(kind.rotary[0].frequencies.at(4097).attention_factor(), 1.5);
  for (auto const* wrong :
       {R"("short_mscale": -2, "long_mscale": 1.5)", R"("short_mscale": 1.25, "long_mscale": -2)"})
    EXPECT_NE(refusal(file(wrong)).find("attention_factor must be finite and positive, got -2"),
              std::string::npos)
        << wrong;
}

TEST(hugging_face, refuses_keys_that_act_by_their_names_and_were_not_read) {
  for (auto const* key :
       {"use_logn_attn", "rotary_emb_new", "rope_new", "new_theta", "alibi_new", "position_new",
        "mla_nope", "window_new", "sliding_new", "attention_multiplier", "query_pre_attn_scalar",
        "qk_scale_factor", "new_softcapping", "sinks", "attn_temperature", "log_scaling_n_floor",
        "use_bidirectional_attention", "attention_chunk_size"}) {
    EXPECT_EQ(refusal(with(llama(), R"({")" + std::string(key) + R"(": 3})")),
              "posenc: config.json: " + std::string(key) +
                  " must be a key that is read: its name says that it acts on positions, scores or "
                  "the mask, got 3");
    auto const taken = read_as_llama(
        with(llama(), R"({"model_type": "novel", ")" + std::string(key) + R"(": 3})"));
    EXPECT_TRUE(mentions(taken.notes, key + std::string(" is not read.")));
    EXPECT_EQ(value_of(key, taken.ignored), "3");
    EXPECT_EQ(inv_freq(with_null(llama(), key)), inv_freq(llama())) << key << ": null";
  }
  auto const silent = read(with(llama(), R"({"vocab_size": 3, "temperature": 0.6})"));
  EXPECT_TRUE(silent.notes.empty());
  EXPECT_EQ(value_of("temperature", silent.ignored), "0.6") << "of the sampling";
  EXPECT_EQ(value_of("vocab_size", silent.ignored), "");
  auto const others = read(with(llama(), R"({"num_local_experts": 8, "ffn_dim_multiplier": 1.5,
      "embedding_multiplier": 12, "final_logit_softcapping": 30, "routed_scaling_factor": 2.5,
      "image_token_index": 7, "initializer_range": 0.02, "logits_scaling": 16})"));
  EXPECT_TRUE(others.notes.empty());
  EXPECT_TRUE(mentions(read(with(llama(), R"({"seq_length": 7})")).notes,
                       "seq_length is 7, which is not taken for the context."));
}

TEST(hugging_face, refuses_unread_keys_at_every_place) {
  auto const must = std::string(
      " must be a key that is read: its name says that it acts on positions, scores or the mask, "
      "got 3");
  json const outer{{"model_type", "mistral3"}, {"text_config", llama()}, {"rope_new", 3}};
  EXPECT_EQ(refusal(outer), "posenc: config.json: rope_new" + must);
  EXPECT_EQ(refusal(json{{"text_config", with(llama(), R"({"rope_new": 3})")}}),
            "posenc: config.json: text_config: rope_new" + must);
  EXPECT_EQ(refusal(with(llama(), R"({"rope_scaling": {"type": "linear", "factor": 2, "x": 3}})")),
            "posenc: config.json: rope_scaling: x" + must);
}

TEST(hugging_face, a_key_beside_a_text_config_may_be_its_copy) {
  json outer{{"model_type", "mistral3"},
             {"text_config", with(llama(), R"({"rope_scaling": {"type": "linear", "factor": 2}})")},
             {"rope_theta", 500000.0},
             {"rope_scaling", {{"type", "linear"}, {"factor", 2}}}};
  EXPECT_EQ(value_of("rope_theta", read(outer).ignored), "500000.0");
  outer["rope_theta"] = 1e4;
  EXPECT_EQ(
      refusal(outer),
      "posenc: config.json: rope_theta must be a key that is read: its name says that it acts "
      "on positions, scores or the mask, got 10000.0");
}

TEST(hugging_face, keys_of_rotation_are_ignored_where_nothing_rotates) {
  auto const alibi =
      R"({"model_type": "falcon", "alibi": true, "rope_scaling": {"type": "linear", "factor": 2}})";
  EXPECT_EQ(value_of("rope_theta", read(with(llama(), alibi)).ignored), "500000.0");
}

TEST(hugging_face, knows_keys_of_a_family_that_do_not_act) {
  auto const phi3 = read(with(llama(), R"({"model_type": "phi3", "full_attn_mod": 1})"));
  EXPECT_TRUE(phi3.notes.empty());
  EXPECT_EQ(value_of("full_attn_mod", phi3.ignored), "1");
  EXPECT_NE(refusal(with(llama(), R"({"full_attn_mod": 1})")), "");
}

TEST(hugging_face, refuses_a_model_that_it_does_not_know_unless_asked_to_take_it_for_llama) {
  auto const novel = with(llama(), R"({"model_type": "novel"})");
  EXPECT_EQ(refusal(novel),
            "posenc: config.json: model_type must be one that is known, unless "
            "unknown_model::as_llama is asked for, got the string \"novel\"");
  auto const taken = read_as_llama(novel);
  EXPECT_EQ(inv_freq(taken.kinds[0]), inv_freq(llama()));
  EXPECT_TRUE(mentions(taken.assumptions, "model_type novel is not known"));
  EXPECT_EQ(value_of("model_type", taken.assumed), "llama");
  EXPECT_TRUE(read_as_llama(llama()).assumptions.empty());
  auto bare = novel;
  bare.erase("rope_theta");
  EXPECT_EQ(message_of([&] { read_as_llama(bare); }),
            "posenc: config.json: model_type must be known where no key is about RoPE, got the "
            "string \"novel\"");
  EXPECT_EQ(message_of([&] { read_as_llama(with(novel, R"({"qk_rope_head_dim": 64})")); }),
            "posenc: config.json: qk_rope_head_dim must come with a known model_type, because only "
            "some scale scores by mscale, got 64");
}

TEST(hugging_face, tells_programs_what_was_read_assumed_and_ignored) {
  auto config = with(llama(), R"({"sliding_window": 100, "vocab_size": 3, "head_dim": null,
      "rope_scaling": {"type": "yarn", "factor": 4.0, "finetuned": true}})");
  config.erase("rope_theta");
  auto const model = read(config);
  using settings = std::vector<model_setting>;
  EXPECT_EQ(model.read, (settings{{"hidden_size", "256"},
                                  {"max_position_embeddings", "8192"},
                                  {"model_type", "\"llama\""},
                                  {"num_attention_heads", "4"},
                                  {"num_hidden_layers", "2"},
                                  {"rope_scaling.factor", "4.0"},
                                  {"rope_scaling.type", "\"yarn\""}}));
  EXPECT_EQ(model.assumed, (settings{{"rope_theta", "10000"},
                                     {"rope_scaling.original_max_position_embeddings", "8192"}}));
  EXPECT_EQ(model.ignored,
            (settings{{"sliding_window", "100"}, {"rope_scaling.finetuned", "true"}}));
  auto const inner = read(json{{"text_config", llama()}});
  EXPECT_EQ(value_of("text_config.rope_theta", inner.read), "500000.0");
}

TEST(hugging_face, names_the_family_whose_default_it_takes) {
  auto const t5 = read(with(llama(), R"({"model_type": "t5"})"));
  EXPECT_TRUE(
      mentions(t5.assumptions, "relative_attention_num_buckets is not given: 32, as t5 has it."));
  auto const mpt = read(with(llama(), R"({"model_type": "mpt", "attn_config": {"alibi": true}})"));
  EXPECT_TRUE(mentions(mpt.assumptions, "alibi_bias_max is not given: 8, as mpt has it."));
}

TEST(hugging_face, notes_where_codes_differ_on_mscale) {
  std::string const yarn =
      R"({"qk_nope_head_dim": 32, "qk_rope_head_dim": 32, "rope_theta": 10000, "rope_scaling": {"type": "yarn",
      "factor": 40, "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 4096}, "model_type": )";
  auto const v2 = read(with(llama(), yarn + R"("deepseek_v2"})")),
             v3 = read(with(llama(), yarn + R"("deepseek_v3"})"));
  auto const mistral = read(with(llama(), yarn + R"("mistral4"})"));
  EXPECT_EQ(v2.kinds[0].softmax_factor, v3.kinds[0].softmax_factor);
  EXPECT_GT(v2.kinds[0].softmax_factor, 1);
  EXPECT_EQ(mistral.kinds[0].softmax_factor, v3.kinds[0].softmax_factor)
      << "Mistral4Attention's yarn_apply_mscale, since huggingface/transformers#47435";
  EXPECT_TRUE(mentions(v2.notes, " on scores: DeepSeek's own code has it"));
  EXPECT_TRUE(mentions(mistral.notes, " on scores: transformers' class has it since 5.15"));
  EXPECT_FALSE(mentions(v3.notes, " on scores: "));
}

TEST(hugging_face, each_layer_has_a_kind) {
  auto const model = read(llama());
  EXPECT_EQ(&model.kind_of(1), &model.kinds[0]);
  EXPECT_EQ(message_of([&] { model.kind_of(2); }),
            "posenc: model_description: layer must be below the number of layers, 2, got 2");
}

// Errors.

TEST(hugging_face, refuses_what_is_no_json) {
  auto const text = llama().dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(refusal(text.substr(0, length)).find("posenc: config.json: must be JSON: "), 0u)
        << length;
  }
  EXPECT_EQ(refusal(std::string("[1, 2]")),
            "posenc: config.json: must be a JSON object, got a list of 2");
  EXPECT_EQ(refusal(std::string("17")), "posenc: config.json: must be a JSON object, got 17");
  EXPECT_EQ(
      refusal(std::string(R"({"a": 1, "b": {"a": 1}, "a": 2})")),
      "posenc: config.json: each key must appear once in its object, got the string \"a\" twice");
  EXPECT_EQ(refusal(std::string(100'000, '[')),
            "posenc: config.json: must not nest deeper than 64 levels");
  auto const nested = [](std::size_t levels) {
    return R"({"a": )" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_EQ(refusal(nested(65)), "posenc: config.json: must not nest deeper than 64 levels");
  EXPECT_EQ(refusal(nested(64)).find("nest"), std::string::npos);
  EXPECT_NE(refusal(std::string(R"({"rope_theta": NaN})")).find("must be JSON"), std::string::npos);
  EXPECT_NE(refusal(std::string(R"({"rope_theta": 1e999})")).find("must be JSON"),
            std::string::npos);
  EXPECT_NE(refusal(std::string("{\"\xff\": 1}")).find("must be JSON"), std::string::npos);
  std::string garbage(5'000'000, '\0');
  for (std::size_t i = 0; i < garbage.size(); ++i)
    garbage[i] = static_cast<char>(i * 2654435761u >> 13);
  EXPECT_NE(refusal(garbage).find("must be JSON"), std::string::npos);
}

TEST(hugging_face, infinity_as_python_writes_it_is_no_number) {
  std::string const text = R"({"model_type": "llama", "num_hidden_layers": 1, "head_dim": 64,
      "a": "\"Infinity", "b": [-Infinity, Infinity], "rope_theta": )";
  EXPECT_EQ(read_hugging_face(text + "10000}", "config.json").layers, 1u);
  EXPECT_EQ(refusal(text + "Infinity}"),
            "posenc: config.json: rope_theta must be a finite number, got the string "
            "\"Infinity\"");
}

TEST(hugging_face, a_whole_number_may_have_a_point) {
  EXPECT_EQ(read(with(llama(), R"({"num_hidden_layers": 3.0})")).layers, 3u);
  for (auto const* no : {"3.5", "-3.0", "1e300"}) {
    EXPECT_NE(refusal(with(llama(), R"({"num_hidden_layers": )" + std::string(no) + "}")), "");
  }
}

TEST(hugging_face, refuses_a_file_that_is_not_there_or_too_long) {
  EXPECT_EQ(message_of([] { read_hugging_face(std::filesystem::path("nowhere/config.json")); }),
            "posenc: nowhere/config.json: must be a file that can be read");
  auto const folder = std::filesystem::temp_directory_path();  // as the folder of a model
  EXPECT_EQ(message_of([&] { read_hugging_face(folder); }),
            "posenc: " + folder.string() + ": must be a file that can be read");
  auto const file = std::filesystem::temp_directory_path() / "posenc_hugging_face_test.json";
  std::ofstream(file) << std::string((std::size_t{16} << 20) + 1, ' ');
  EXPECT_EQ(message_of([&] { read_hugging_face(file); }),
            "posenc: " + file.string() + ": must be at most 16 MiB long");
  std::ofstream(file) << llama();
  EXPECT_EQ(inv_freq(read_hugging_face(file).kinds[0]), inv_freq(llama()));
  std::filesystem::remove(file);
}

TEST(hugging_face, names_file_key_and_value_of_what_is_wrong) {
  std::pair<char const*, char const*> const cases[] = {
      {R"({"model_type": 3})", "model_type must be a string, got 3"},
      {R"({"num_hidden_layers": 0})",
       "num_hidden_layers must be a whole number from 1 to 65536, got 0"},
      {R"({"num_hidden_layers": -1})",
       "num_hidden_layers must be a whole number from 1 to 65536, got -1"},
      {R"({"num_hidden_layers": 1e18})",
       "num_hidden_layers must be a whole number from 1 to 65536, got 1e+18"},
      {R"({"num_hidden_layers": 1000000000000})",
       "num_hidden_layers must be a whole number from 1 to 65536, got 1000000000000"},
      {R"({"n_layer": 3})", "n_layer must agree with num_hidden_layers, which is 2, got 3"},
      {R"({"head_dim": 70000})", "head_dim must be a whole number from 1 to 65536, got 70000"},
      {R"({"head_dim": 63})",
       "head_dim must give an even number of rotary dims within head_dim 63, got 63"},
      {R"({"hidden_size": 250})",
       "hidden_size must be a multiple of the 4 heads where head_dim is not given, got 250"},
      {R"({"rope_theta": "1e4"})", "rope_theta must be a finite number, got the string \"1e4\""},
      {R"({"rope_theta": -1})", "rope_theta must be positive, got -1"},
      {R"({"rope_theta": [1e4, -1]})", "rope_theta must hold no number below 0, got a list of 2"},
      {R"({"rope_scaling": {"type": "yarn"}})",
       "rope_scaling: factor must be given for rope_type yarn where "
       "original_max_position_embeddings is not, and is absent"},
      {R"({"partial_rotary_factor": 1.5})",
       "partial_rotary_factor must be above 0 and at most 1, got 1.5"},
      {R"({"partial_rotary_factor": 0.5, "rotary_pct": 0.25})",
       "rotary_pct must agree with partial_rotary_factor, which is 0.5, got 0.25"},
      {R"({"rotary_dim": 66})",
       "rotary_dim must give an even number of rotary dims within head_dim 64, got 66"},
      {R"({"qk_nope_head_dim": 128})",
       "qk_rope_head_dim must be given where qk_nope_head_dim is, and is absent"},
      {R"({"rope_scaling": [1]})", "rope_scaling must be an object, got a list of 1"},
      {R"({"rope_scaling": {}, "rope_parameters": {"rope_theta": 500000}})",
       "rope_scaling must agree with rope_parameters, got an object of 0 keys"},
      {R"({"rope_scaling": {"factor": 8}})",
       "rope_scaling: factor must not be given without a rope_type that takes it, got 8"},
      {R"({"layer_types": ["full_attention", "Sliding_attention"]})",
       "layer_types must be among full_attention, attention, sliding_attention, chunked_attention, "
       "compressed_sparse_attention, heavily_compressed_attention, hybrid, "
       "deepseek_sparse_attention, hybrid_indexed, minimax_m3_sparse, qwen_sparse_attention, "
       "linear_attention, conv, "
       "mamba, recurrent, moe, mlp, got the string \"Sliding_attention\""},
      {R"({"model_type": "granite", "attention_multiplier": 1e308})",
       "the factor on scores must be finite, got infinity"},
      {R"({"alibi": true})", "alibi must be false for llama, got true"},
      {R"({"model_type": "deepseek_v3"})",
       "qk_rope_head_dim must be given for deepseek_v3, and is absent"},
      {R"({"model_type": "gpt_oss", "head_dim": 64})",
       "rope_parameters must be given for gpt_oss, and is absent"},
      {R"({"model_type": "qwen2_vl"})", "mrope_section must be given for qwen2_vl, and is absent"},
      {R"({"model_type": "mpt", "attn_config": {"rope": true}})",
       "attn_config: rope must be false: MPT's RoPE is not read, got true"},
      {R"({"model_type": "bert", "position_embedding_type": "relative_key"})",
       "position_embedding_type must be absolute: relative keys and queries are not read, got the "
       "string \"relative_key\""},
      {R"({"hybrid_layer_pattern": [0, 2], "sliding_window": 4})",
       "hybrid_layer_pattern must be one of 0, 1, got 2 for layer 1"},
      {R"({"model_type": "exaone4", "sliding_window": 4, "sliding_window_pattern": "LXG"})",
       "sliding_window_pattern must be a number, or letters L and G, got the string \"LXG\""},
      {R"({"rope_parameters": {"rope_theta": 1e4}})",
       "rope_parameters: rope_theta must agree with the one outside, which is 5e+05, got 10000.0"},
      {R"({"rope_scaling": {"type": "ntk", "factor": 2}})",
       "rope_scaling: type must be one of default, linear, dynamic, yarn, longrope (or su), "
       "llama3, proportional, mrope, got the string "
       "\"ntk\""},
      {R"({"rope_scaling": {"type": "axial", "factor": 2}})",
       "rope_scaling: type must be one of default, linear, dynamic, yarn, longrope (or su), "
       "llama3, proportional, mrope, got the string "
       "\"axial\""},
      {R"({"rope_scaling": {"type": "linear", "rope_type": "yarn"}})",
       "rope_scaling: type must agree with rope_type, which is the string \"yarn\", got the string "
       "\"linear\""},
      {R"({"rope_scaling": {"type": "linear"}})",
       "rope_scaling: factor must be given for rope_type linear, and is absent"},
      {R"({"rope_scaling": {"type": "linear", "factor": -0.5}})",
       "rope_scaling: linear: factor must be finite and positive, got -0.5"},
      {R"({"rope_scaling": {"type": "dynamic", "factor": 0}})",
       "rope_scaling: dynamic_ntk: factor must be finite and positive, got 0"},
      {R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}})",
       "rope_scaling: llama3: low_freq_factor and high_freq_factor must be finite and 0 <= low <= "
       "high, got 4 and 1"},
      {R"({"rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": -1}})",
       "rope_scaling: yarn: beta_fast must be finite and positive, got -1"},
      {R"({"rope_scaling": {"type": "yarn", "factor": 4, "truncate": "no"}})",
       "rope_scaling: truncate must be true or false, got the string \"no\""},
      {R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}, "original_max_position_embeddings": 4096})",
       "rope_scaling: original_max_position_embeddings must agree with the one outside, which is "
       "4096, got 2048"},
      {R"({"rope_scaling": {"type": "longrope", "long_factor": [1]}})",
       "rope_scaling: short_factor must be given for rope_type longrope, and is absent"},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2], "factor": 2}})",
       "rope_scaling: longrope: short_factor must have one factor for each of the 32 pairs, got 2"},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": [1, "2"], "long_factor": [1], "factor": 2}})",
       "rope_scaling: short_factor must be a list of finite numbers, got the string \"2\" at 1"},
      {R"({"rope_scaling": {"type": "mrope", "mrope_section": [8, 8, 8]}})",
       "rope_scaling: mrope_section must sum to the 32 pairs of the rotary block, got 24"},
      {R"({"rope_scaling": {"type": "mrope", "mrope_section": [-8, 20, 20]}})",
       "rope_scaling: mrope_section must hold whole numbers of pairs, got -8"},
      {R"({"layer_types": ["full_attention"]})",
       "layer_types must have one entry for each of the 2 layers, got a list of 1"},
      {R"({"layer_types": ["full_attention", "sliding_attention"]})",
       "sliding_window must be given for layers of sliding_attention, and is absent"},
      {R"({"model_type": "smollm3", "no_rope_layers": [1]})",
       "no_rope_layers must have one entry for each of the 2 layers, got a list of 1"},
      {R"({"model_type": "smollm3", "no_rope_layers": [1, 2]})",
       "no_rope_layers must hold 0 (no RoPE) or 1 (RoPE), got 2 at layer 1"},
      {R"({"max_position_embeddings": 9007199254740993})",
       "max_position_embeddings must be a whole number from 1 to 9007199254740992, got "
       "9007199254740993"},
  };
  for (auto const& [patch, message] : cases) {
    bool const is_of_rope = std::string(message).starts_with("mrope_section");
    auto const prefix =
        is_of_rope ? "posenc: config.json: rope_parameters: " : "posenc: config.json: ";
    EXPECT_EQ(refusal(with(llama(), patch)), prefix + std::string(message)) << patch;
  }
  for (auto const* key : {"model_type", "num_hidden_layers", "num_attention_heads"}) {
    auto config = llama();
    config.erase(key);
    EXPECT_EQ(refusal(config),
              std::string("posenc: config.json: ") + key + " must be given, and is absent");
  }
}

}  // namespace of_hugging_face
}  // namespace
