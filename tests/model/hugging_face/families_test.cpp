// Families by the settings of their published models: the keys of the real file that act.
#include "posenc/model/hugging_face/families.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oracle/frequency_rules.hpp"
#include "posenc/model/hugging_face.hpp"
#include "rejects.hpp"

namespace {
namespace of_hugging_face_families {

using namespace posenc;

model_description read(std::string const& text) { return read_hugging_face(text, "config.json"); }
std::string refusal(std::string const& text) {
  return message_of([&] { read(text); });
}

/// A letter for each layer: full or sliding where it rotates, nope or NoPE-sliding (z) where it
/// does not, and - without attention.
std::string letters(model_description const& model) {
  std::string result;
  for (std::size_t i = 0; i < model.layers; ++i) {
    auto const& kind = model.kind_of(i);
    bool const rotates = !kind.rotary.empty();
    result += kind.head_dim == 0 ? '-' : kind.window ? (rotates ? 's' : 'z') : rotates ? 'f' : 'n';
  }
  return result;
}
std::string repeated(std::string const& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

std::vector<double> inv_freq(layer_description const& kind) {
  auto const f = kind.rotary.at(0).frequencies.at(1);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
bool is_interleaved(layer_description const& kind) {
  return std::holds_alternative<interleaved>(kind.rotary.at(0).layout);
}
std::string axis_letters(layer_description const& kind) {
  std::string result;
  auto const& axes = *kind.rotary.at(0).axes;
  for (std::size_t i = 0; i < axes.pairs(); ++i) result += "thw"[axes.axis(i)];
  return result;
}

TEST(families, share_no_model_type) {
  std::set<std::string_view> seen;
  for (auto const& family : detail::model_families::all) {
    EXPECT_FALSE(family.types.empty());
    for (auto const type : detail::words_of(family.types))
      EXPECT_TRUE(!type.empty() && seen.insert(type).second) << type;
  }
  EXPECT_EQ(detail::family_of(""), nullptr);
}

// The scale of scores.

TEST(families, granite_4_scales_scores_by_attention_multiplier) {
  auto const hybrid = read(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 6,
      "num_attention_heads": 32, "hidden_size": 4096, "attention_multiplier": 0.0078125,
      "embedding_multiplier": 12, "residual_multiplier": 0.22, "position_embedding_type": "nope",
      "rope_theta": 10000, "rope_scaling": null, "mamba_chunk_size": 256,
      "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention"]})");
  EXPECT_EQ(letters(hybrid), "-----n");
  EXPECT_DOUBLE_EQ(hybrid.kind_of(5).softmax_factor, 0.0078125 * std::sqrt(128.0));
  auto const micro = read(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2,
      "num_attention_heads": 40, "hidden_size": 2560, "attention_multiplier": 0.015625,
      "position_embedding_type": "rope", "rope_theta": 10000000,
      "layer_types": ["attention", "attention"]})");
  EXPECT_EQ(letters(micro), "ff");
  EXPECT_EQ(inv_freq(micro.kinds[0]), oracle::default_rule(64, 1e7));
  EXPECT_DOUBLE_EQ(micro.kinds[0].softmax_factor, 0.125);
  auto const shared = read(R"({"model_type": "granitemoeshared", "num_hidden_layers": 1,
      "num_attention_heads": 16, "hidden_size": 1024, "attention_multiplier": 0.015625,
      "rope_theta": 10000})");
  EXPECT_DOUBLE_EQ(shared.kinds[0].softmax_factor, 0.125);
}

TEST(families, a_granite_hybrid_without_position_embedding_type_does_not_rotate) {
  EXPECT_EQ(letters(read(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2,
      "num_attention_heads": 32, "hidden_size": 4096, "rope_theta": 10000,
      "layer_types": ["attention", "mamba"]})")),
            "n-");
}

TEST(families, gemma_3n_does_not_divide_scores) {
  auto const model = read(R"({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text",
      "num_hidden_layers": 10, "num_attention_heads": 8, "hidden_size": 2048, "head_dim": 256,
      "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0, "rope_scaling": null,
      "sliding_window": 512, "max_position_embeddings": 32768}})");
  EXPECT_EQ(letters(model), "ssssfssssf");
  EXPECT_EQ(model.kind_of(0).softmax_factor, 16);
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(256, 1e4));
  EXPECT_EQ(inv_freq(model.kind_of(4)), oracle::default_rule(256, 1e6));
}

TEST(families, vaultgemma_is_scaled_as_gemma_2) {
  std::string const text = R"({"model_type": "vaultgemma", "num_hidden_layers": 2,
      "num_attention_heads": 4, "hidden_size": 1152, "head_dim": 256, "sliding_window": 512,
      "rope_theta": 10000, "query_pre_attn_scalar": )";
  EXPECT_EQ(read(text + "256}").kinds[0].softmax_factor, 1);
  EXPECT_EQ(read(text + "1024}").kinds[0].softmax_factor, 0.5);
  EXPECT_EQ(letters(read(text + "256}")), "sf");
  EXPECT_EQ(read(text + "256}").kinds[0].score_cap, 50);
}

TEST(families, mpt_may_have_a_scale_of_its_own) {
  auto const model = read(R"({"model_type": "mpt", "n_layers": 1, "n_heads": 32, "d_model": 4096,
      "attn_config": {"alibi": true, "alibi_bias_max": 8, "softmax_scale": 0.25}})");
  EXPECT_DOUBLE_EQ(model.kinds[0].softmax_factor, 0.25 * std::sqrt(128.0));
}

TEST(families, gpt_2_may_leave_scores_undivided) {
  std::string const text =
      R"({"model_type": "gpt2", "n_layer": 1, "n_head": 4, "n_embd": 256, "n_ctx": 1024)";
  EXPECT_EQ(read(text + "}").kinds[0].softmax_factor, 1);
  EXPECT_EQ(read(text + R"(, "scale_attn_weights": false})").kinds[0].softmax_factor, 8);
  EXPECT_EQ(refusal(text + R"(, "scale_attn_by_inverse_layer_idx": true})"),
            "posenc: config.json: scale_attn_by_inverse_layer_idx must be false: a scale for each "
            "layer is not read, got true");
}

// Pairs.

TEST(families, ernie_4_5_and_helium_interleave) {
  auto const ernie = read(R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 28,
      "num_attention_heads": 20, "hidden_size": 2560, "rope_theta": 500000.0, "rope_scaling": null,
      "max_position_embeddings": 131072})");
  EXPECT_TRUE(is_interleaved(ernie.kinds[0]));
  EXPECT_EQ(inv_freq(ernie.kinds[0]), oracle::default_rule(128, 5e5));
  auto const helium = read(R"({"model_type": "helium", "num_hidden_layers": 24, "head_dim": 128,
      "num_attention_heads": 20, "hidden_size": 2560, "rope_theta": 100000.0})");
  EXPECT_TRUE(is_interleaved(helium.kinds[0]));
  EXPECT_EQ(inv_freq(helium.kinds[0]), oracle::default_rule(128, 1e5));
}

TEST(families, ernie_4_5_vl_alternates_height_and_width_before_time) {
  auto const model = read(R"({"model_type": "ernie4_5_moe_vl", "num_hidden_layers": 28,
      "num_attention_heads": 20, "hidden_size": 2560, "rope_theta": 500000,
      "rope_scaling": {"type": "default", "mrope_section": [22, 22, 20]}})");
  EXPECT_TRUE(is_interleaved(model.kinds[0]));
  EXPECT_EQ(axis_letters(model.kinds[0]), repeated("hw", 22) + std::string(20, 't'));
  EXPECT_EQ(axis_letters(read(R"({"model_type": "ernie4_5_vl_moe_text", "num_hidden_layers": 1,
      "num_attention_heads": 20, "hidden_size": 2560})")
                             .kinds[0]),
            axis_letters(model.kinds[0]));
  EXPECT_EQ(refusal(R"({"model_type": "ernie4_5_moe_vl", "num_hidden_layers": 1, "head_dim": 128,
      "rope_theta": 500000, "rope_scaling": {"mrope_section": [22, 21, 21]}})"),
            "posenc: config.json: rope_scaling: mrope_section must have as many pairs of height, "
            "22, as of width, got 21");
}

// [modeling_nanochat.py, rotate_half]
TEST(families, nanochat_rotates_by_the_opposite_angle) {
  auto const model = read(R"({"model_type": "nanochat", "num_hidden_layers": 12,
      "num_attention_heads": 6, "hidden_size": 768, "rope_theta": 10000.0})");
  ASSERT_EQ(model.kinds.size(), 1u);
  EXPECT_TRUE(model.kinds[0].rotary.at(0).opposite);
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 1e4));
  EXPECT_FALSE(read(R"({"model_type": "llama", "num_hidden_layers": 2, "head_dim": 64,
      "rope_theta": 10000.0})")
                   .kinds[0]
                   .rotary.at(0)
                   .opposite);
}

TEST(families, the_first_chatglm_rotates_each_half_by_a_position_of_its_own) {
  auto const model = read(R"({"model_type": "chatglm", "num_layers": 28, "num_attention_heads": 32,
      "hidden_size": 4096, "inner_hidden_size": 16384, "max_sequence_length": 2048,
      "position_encoding_2d": true, "rope_theta": 10000})");
  ASSERT_EQ(model.kinds[0].rotary.size(), 2u);
  for (std::size_t block = 0; block < 2; ++block) {
    auto const& rotary = model.kinds[0].rotary[block];
    EXPECT_FALSE(std::holds_alternative<interleaved>(rotary.layout));
    EXPECT_EQ(rotary.block.first_dim(128, 64), 64 * block);
    EXPECT_EQ(rotary.axes->axis(0), block);
    EXPECT_EQ(rotary.frequencies.at(1).inv_freq()[31], oracle::default_rule(64, 1e4)[31]);
  }
}

// Layers that do not rotate.

TEST(families, full_layers_of_k_exaone_and_trinity_do_not_rotate) {
  auto const exaone = read(R"({"model_type": "exaone_moe", "num_hidden_layers": 8,
      "num_attention_heads": 64, "hidden_size": 6144, "head_dim": 128, "sliding_window": 128,
      "sliding_window_pattern": "LLLG", "rope_parameters": {"rope_theta": 1000000,
      "rope_type": "default"}, "layer_types": null, "routed_scaling_factor": 2.5})");
  EXPECT_EQ(letters(exaone), "sssnsssn");
  auto const trinity = read(R"({"model_type": "afmoe", "num_hidden_layers": 8,
      "num_attention_heads": 32, "hidden_size": 2048, "head_dim": 128, "sliding_window": 2048,
      "global_attn_every_n_layers": 4, "rope_theta": 10000, "rope_scaling": null})");
  EXPECT_EQ(letters(trinity), "sssnsssn");
  EXPECT_EQ(trinity.kind_of(0).window, 2048u);
}

TEST(families, a_0_in_layer_rope_theta_is_nope) {
  auto const granite = read(R"({"model_type": "granite_swa", "num_hidden_layers": 8,
      "num_attention_heads": 20, "hidden_size": 2560, "attention_multiplier": 0.0078125,
      "sliding_window": 128, "rope_parameters": {"rope_theta": 10000, "rope_type": "default"},
      "layer_rope_theta": [0, 10000, 10000, 10000, 0, 500000, 500000, 500000]})");
  EXPECT_EQ(letters(granite), "nsssnsss");
  EXPECT_EQ(inv_freq(granite.kind_of(1)), oracle::default_rule(128, 1e4));
  EXPECT_EQ(inv_freq(granite.kind_of(5)), oracle::default_rule(128, 5e5));
  EXPECT_NE(granite.kind_of(1).name, granite.kind_of(5).name);
  EXPECT_DOUBLE_EQ(granite.kind_of(0).softmax_factor, 0.0078125 * std::sqrt(128.0));
  EXPECT_TRUE(granite.kind_of(0).sinks && granite.kind_of(1).sinks);
  EXPECT_EQ(letters(read(R"({"model_type": "granite_swa", "num_hidden_layers": 8,
      "num_attention_heads": 20, "hidden_size": 2560, "rope_theta": 10000})")),
            "fsssfsss");
}

TEST(families, every_4th_layer_of_muse_glimmer_counted_from_the_last_is_nope) {
  std::string const text = R"({"model_type": "muse_glimmer_text", "num_attention_heads": 32,
      "hidden_size": 4096, "head_dim": 128, "qk_scale_factor": 3.87, "sliding_window": 2048,
      "output_multiplier": 0.19611613513818404, "final_logit_softcapping": 20.0,
      "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}, "num_hidden_layers": )";
  EXPECT_EQ(letters(read(text + "8}")), "sssnsssn");
  EXPECT_EQ(letters(read(text + "10}")), "snsssnsssn");
  EXPECT_EQ(letters(read(text + R"(4, "layer_rope_theta": [0, 5e5, 5e5, 5e5]})")), "zssf");
  EXPECT_DOUBLE_EQ(read(text + "8}").kinds[0].softmax_factor, 3.87);
  EXPECT_EQ(refusal(text + R"(4, "layer_rope_theta": [0, 5e5, 1e4, 5e5]})"),
            "posenc: config.json: rope_parameters: rope_theta must be 10000, as in the list for "
            "each layer, got 500000.0")
      << "its class takes only the zeros from the list";
}

TEST(families, nemotron_h_has_no_rope) {
  auto const model = read(R"({"model_type": "nemotron_h", "num_hidden_layers": 12,
      "num_attention_heads": 32, "hidden_size": 4096, "attention_head_dim": 128,
      "hybrid_override_pattern": "M-M-M-M*-M-E", "rope_theta": 10000, "sliding_window": null,
      "partial_rotary_factor": 1.0, "time_step_limit": [0.0, Infinity]})");
  EXPECT_EQ(letters(model), "-------n----");
  EXPECT_EQ(refusal(R"({"model_type": "nemotron_h", "num_hidden_layers": 2,
      "num_attention_heads": 32, "hidden_size": 4096})"),
            "posenc: config.json: layer_types must be given, or another list of the types of "
            "layers, and is absent");
}

TEST(families, few_layers_of_minimax_and_bamba_have_attention) {
  auto const minimax = read(R"({"model_type": "minimax_text_01", "num_hidden_layers": 8,
      "num_attention_heads": 64, "hidden_size": 6144, "head_dim": 128, "rotary_dim": 64,
      "rope_theta": 10000000, "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1]})");
  EXPECT_EQ(letters(minimax), "-------f");
  EXPECT_EQ(inv_freq(minimax.kind_of(7)), oracle::default_rule(64, 1e7));
  auto const hf = read(R"({"model_type": "minimax", "num_hidden_layers": 4, "head_dim": 128,
      "num_attention_heads": 64, "hidden_size": 6144, "rope_theta": 10000000})");
  EXPECT_EQ(letters(hf), "f-f-");
  auto const bamba = read(R"({"model_type": "bamba", "num_hidden_layers": 12,
      "num_attention_heads": 32, "hidden_size": 4096, "attn_layer_indices": [9],
      "attn_rotary_emb": 64, "rope_theta": 10000.0, "max_position_embeddings": 8192.0})");
  EXPECT_EQ(letters(bamba), "---------f--");
  EXPECT_EQ(inv_freq(bamba.kind_of(9)), oracle::default_rule(64, 1e4));
  EXPECT_EQ(bamba.context, 8192u);
  EXPECT_EQ(refusal(R"({"model_type": "bamba", "num_hidden_layers": 2, "head_dim": 128,
      "attn_layer_indices": [2]})"),
            "posenc: config.json: attn_layer_indices must hold indices of the 2 layers, from 0, "
            "got a list of 1");
}

TEST(families, recurrent_gemma_slides_in_every_3rd_layer) {
  auto const model = read(R"({"model_type": "recurrent_gemma", "num_hidden_layers": 8,
      "num_attention_heads": 10, "hidden_size": 2560, "attention_window_size": 2048,
      "block_types": ["recurrent", "recurrent", "attention"], "partial_rotary_factor": 0.5,
      "rope_theta": 10000.0, "logits_soft_cap": 30.0})");
  EXPECT_EQ(letters(model), "--s--s--");
  EXPECT_EQ(model.kind_of(2).window, 2048u);
  EXPECT_EQ(inv_freq(model.kind_of(2)), oracle::default_rule(128, 1e4));
  EXPECT_EQ(letters(read(R"({"model_type": "recurrent_gemma", "num_hidden_layers": 3,
      "num_attention_heads": 10, "hidden_size": 2560})")),
            "--s");
}

// Base and dims.

TEST(families, have_their_own_base_where_the_file_does_not_say) {
  std::string const sizes =
      R"("num_hidden_layers": 1, "num_attention_heads": 32, "hidden_size": 4096})";
  for (auto const& [type, base] : std::vector<std::pair<std::string, double>>{
           {"hy_v3", 11'158'840}, {"olmo3", 5e5}, {"lfm2", 1e6}, {"apertus", 12e6}}) {
    auto const rope = type == "apertus" ? R"("rope_scaling": {"rope_type": "default"}, )" : "";
    auto const model = read(R"({"model_type": ")" + type + R"(", )" + rope + sizes);
    EXPECT_EQ(inv_freq(model.kinds.back()), oracle::default_rule(128, base)) << type;
  }
}

TEST(families, stablelm_epoch_gives_its_part_as_rope_pct) {
  auto const model = read(R"({"model_type": "stablelm_epoch", "num_hidden_layers": 32,
      "num_attention_heads": 32, "hidden_size": 2560, "rope_pct": 0.25, "rope_theta": 10000})");
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(20, 1e4));
}

TEST(families, phi_3_small_is_refused_for_its_mask) {
  EXPECT_EQ(refusal(R"({"model_type": "phi3small", "num_hidden_layers": 32,
      "num_attention_heads": 32, "hidden_size": 4096, "rope_embedding_base": 1000000})"),
            "posenc: config.json: model_type must be another: phi3small sees keys by a "
            "block-sparse mask, which is not read, got the string \"phi3small\"");
}

TEST(families, modernbert_slides_with_a_local_base) {
  auto const model = read(R"({"model_type": "modernbert", "num_hidden_layers": 6,
      "num_attention_heads": 12, "hidden_size": 768, "global_attn_every_n_layers": 3,
      "global_rope_theta": 160000.0, "local_attention": 128, "local_rope_theta": 10000.0,
      "max_position_embeddings": 8192, "position_embedding_type": "absolute"})");
  EXPECT_EQ(letters(model), "fssfss");
  EXPECT_EQ(model.kind_of(1).window, 65u) << "64 keys on each side";
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(64, 160'000));
  EXPECT_EQ(inv_freq(model.kind_of(1)), oracle::default_rule(64, 1e4));
  auto const decoder = read(R"({"model_type": "modernbert-decoder", "num_hidden_layers": 6,
      "num_attention_heads": 12, "hidden_size": 768, "local_attention": 128})");
  EXPECT_EQ(letters(decoder), "fssfss");
  EXPECT_EQ(decoder.kind_of(1).window, 64u);
  EXPECT_EQ(inv_freq(decoder.kind_of(1)), oracle::default_rule(64, 1e4));
}

TEST(families, every_other_layer_of_gpt_neo_is_local) {
  auto const model = read(R"({"model_type": "gpt_neo", "num_layers": 4, "num_heads": 16,
      "hidden_size": 2048, "max_position_embeddings": 2048, "window_size": 256,
      "attention_layers": ["global", "local", "global", "local"],
      "attention_types": [[["global", "local"], 2]]})");
  EXPECT_EQ(letters(model), "nznz");
  EXPECT_EQ(model.kind_of(1).window, 256u);
  EXPECT_DOUBLE_EQ(model.kind_of(1).softmax_factor, std::sqrt(128.0));
  EXPECT_EQ(model.embedding, "learned");
}

TEST(families, olmo_3_scales_full_layers_only) {
  auto const model = read(R"({"model_type": "olmo3", "num_hidden_layers": 4,
      "num_attention_heads": 32, "hidden_size": 4096, "rope_theta": 500000,
      "sliding_window": 4096, "max_position_embeddings": 65536, "rope_scaling": {"rope_type":
      "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "attention_factor":
      1.2079441541679836, "beta_fast": 32, "beta_slow": 1}})");
  EXPECT_EQ(letters(model), "sssf");
  EXPECT_EQ(model.kind_of(0).rotary[0].rule, "default");
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(128, 5e5));
  EXPECT_EQ(model.kind_of(0).rotary[0].frequencies.at(1).attention_factor(), 1);
  EXPECT_EQ(model.kind_of(3).rotary[0].rule, "yarn");
}

TEST(families, telechat_3_has_an_attention_factor_of_its_own) {
  auto const model = read(R"({"model_type": "telechat3", "num_hidden_layers": 1,
      "num_attention_heads": 32, "hidden_size": 4096, "rope_theta": 1000000,
      "max_position_embeddings": 131072, "rope_scaling": {"type": "yarn", "factor": 16,
      "original_max_position_embeddings": 8192}})");
  EXPECT_NEAR(model.kinds[0].rotary[0].frequencies.at(1).attention_factor(), 1.19408121056, 1e-11);
}

TEST(families, solar_open_rotates_whole_heads) {
  EXPECT_EQ(inv_freq(read(R"({"model_type": "solar_open", "num_hidden_layers": 1,
      "num_attention_heads": 64, "hidden_size": 4096})")
                         .kinds[0]),
            oracle::default_rule(128, 1e6))
      << "its class sets a part of 1 before that of GLM's class sets 0.5";
}

TEST(families, a_local_base_is_an_error_where_the_class_has_none) {
  EXPECT_NE(refusal(R"({"model_type": "gemma2", "num_hidden_layers": 2, "num_attention_heads": 8,
      "hidden_size": 2304, "rope_theta": 10000, "rope_local_base_freq": 500})")
                .find("rope_local_base_freq must be a key that is read"),
            std::string::npos);
  EXPECT_EQ(letters(read(R"({"model_type": "minimax_m2", "num_hidden_layers": 1,
      "num_attention_heads": 48, "hidden_size": 3072, "rotary_dim": 64, "swa_rope_theta": -1.0,
      "rope_theta": 5000000, "sliding_window": null, "attn_type_list": [1]})")),
            "f");
}

TEST(families, some_have_another_name_of_the_base_alone) {
  std::string const text = R"({"num_hidden_layers": 1, "num_attention_heads": 8,
      "hidden_size": 512, "model_type": "gpt_neox", )";
  EXPECT_EQ(inv_freq(read(text + R"("rotary_emb_base": 500, "rotary_pct": 1.0})").kinds[0]),
            oracle::default_rule(64, 500));
  EXPECT_NE(refusal(text + R"("rope_theta": 500})").find("rope_theta must be a key that is read"),
            std::string::npos)
      << "its class takes 10000 then";
}

TEST(families, some_read_rope_parameters_by_type_of_layer_alone) {
  std::string const text = R"({"num_hidden_layers": 1, "num_attention_heads": 8,
      "hidden_size": 2048, "rope_parameters": {"rope_theta": 500000}, "model_type": )";
  for (std::string const type : {"gemma4_text", "laguna", "mellum"}) {
    EXPECT_EQ(
        refusal(text + '"' + type + "\"}"),
        "posenc: config.json: rope_parameters must have an object for each type of layers of " +
            type + ", got an object of 1 keys");
  }
}

TEST(families, a_part_of_latent_attention_is_of_what_rotates_or_of_the_head) {
  std::string const text = R"({"model_type": "deepseek_v3", "num_hidden_layers": 1,
      "num_attention_heads": 8, "hidden_size": 2048, "qk_nope_head_dim": 64,
      "qk_rope_head_dim": 64, "partial_rotary_factor": )";
  for (auto const* good : {"1.0", "0.5"})
    EXPECT_EQ(inv_freq(read(text + good + "}").kinds[0]), oracle::default_rule(64, 1e4));
  EXPECT_EQ(refusal(text + "0.25}"),
            "posenc: config.json: qk_rope_head_dim must agree with partial_rotary_factor, got 64");
}

TEST(families, say_where_versions_of_transformers_differ) {
  auto const notes = [](std::string const& keys) {
    auto const model = read(R"({"num_hidden_layers": 3, "num_attention_heads": 4,
        "hidden_size": 256, "model_type": )" +
                            keys + "}");
    std::string all;
    for (auto const& note : model.notes) all += note;
    return all;
  };
  EXPECT_EQ(notes(R"("cohere")"),
            "Another version of transformers takes 10000 where rope_theta is not given.");
  EXPECT_EQ(notes(R"("cohere", "rope_theta": 8e6)"), "");
  EXPECT_EQ(
      notes(R"("modernbert-decoder")"),
      "Another version of transformers takes 160000 where rope_local_base_freq is not given.");
  std::string const window = R"("qwen2_moe", "sliding_window": 7, "use_sliding_window": )";
  EXPECT_EQ(notes(window + "true"),
            "transformers 4.57 slides the layers from max_window_layers on instead.");
  EXPECT_EQ(notes(window + "false"), "");
}

// Windows.

TEST(families, qwens_slide_by_rules_of_their_own) {
  auto const qwen = [](std::string const& type, std::string const& more) {
    return letters(read(R"({"model_type": ")" + type + R"(", "num_hidden_layers": 6,
      "num_attention_heads": 16, "hidden_size": 2048, "rope_theta": 1000000,
      "max_window_layers": 4, "sliding_window": 32768)" +
                        more));
  };
  std::string const on = R"(, "use_sliding_window": true})";
  EXPECT_EQ(qwen("qwen2", on), "ffffss");
  EXPECT_EQ(qwen("qwen3", on), "ffffss");
  EXPECT_EQ(qwen("qwen2_moe", on), "sfsfff");
  EXPECT_EQ(qwen("qwen3_moe", on), "ssssss");
  for (auto const* type : {"qwen2", "qwen3", "qwen2_moe", "qwen3_moe"}) {
    EXPECT_EQ(qwen(type, "}"), "ffffff") << type;
    EXPECT_EQ(qwen(type, R"(, "use_sliding_window": false})"), "ffffff") << type;
  }
}

TEST(families, a_window_of_0_is_none) {
  std::string const sizes = R"(, "num_hidden_layers": 1, "num_attention_heads": 32,
      "hidden_size": 4096, "rope_theta": 10000, "sliding_window": 0})";
  for (auto const* type : {"mistral", "llama", "gemma2", "qwen2_moe"}) {
    EXPECT_EQ(letters(read(R"({"model_type": ")" + std::string(type) + '"' + sizes)), "f") << type;
  }
  EXPECT_EQ(refusal(R"({"model_type": "llama", "num_hidden_layers": 1, "head_dim": 64,
      "layer_types": ["sliding_attention"], "sliding_window": 0})"),
            "posenc: config.json: sliding_window must be given for layers of sliding_attention, "
            "got 0");
}

TEST(families, some_slide_only_where_layer_types_says_so) {
  std::string const text = R"({"num_hidden_layers": 2, "num_attention_heads": 48,
      "hidden_size": 2048, "rope_parameters": {"full_attention": {"rope_type": "default",
      "rope_theta": 500000.0, "partial_rotary_factor": 0.5}, "sliding_attention": {"rope_type":
      "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}}, "model_type": "laguna")";
  EXPECT_EQ(letters(read(text + "}")), "ff");
  auto const model = read(text + R"(, "layer_types": ["full_attention", "sliding_attention"]})");
  EXPECT_EQ(letters(model), "fs");
  EXPECT_EQ(model.kind_of(1).window, 512u);
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(64, 5e5));
  EXPECT_EQ(inv_freq(model.kind_of(1)), oracle::default_rule(128, 1e4));
}

TEST(families, smollm_3_slides_where_it_does_not_rotate) {
  std::string const text = R"({"model_type": "smollm3", "num_hidden_layers": 4,
      "num_attention_heads": 16, "hidden_size": 2048, "rope_theta": 5000000,
      "sliding_window": 4096, "use_sliding_window": )";
  EXPECT_EQ(letters(read(text + "true}")), "fffz");
  EXPECT_EQ(letters(read(text + "false}")), "fffn");
}

TEST(families, a_gemma_3_that_sees_both_sides_has_half_its_window_on_each) {
  std::string const text = R"({"model_type": "gemma3_text", "num_hidden_layers": 6,
      "num_attention_heads": 3, "hidden_size": 768, "head_dim": 256, "query_pre_attn_scalar": 256,
      "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0, "sliding_window": 512,
      "_sliding_window_pattern": 6, "use_bidirectional_attention": )";
  EXPECT_EQ(read(text + "true}").kind_of(0).window, 257u) << "EmbeddingGemma";
  EXPECT_EQ(read(text + "false}").kind_of(0).window, 512u);
}

// Refused before, though common.

TEST(families, a_text_config_may_leave_out_sizes) {
  auto const llava = read(R"({"model_type": "llava", "text_config": {"model_type": "llama",
      "max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "vocab_size": 32064}})");
  EXPECT_EQ(llava.layers, 32u);
  EXPECT_EQ(llava.kinds[0].head_dim, 128u);
  auto const next = read(R"({"model_type": "llava_next", "text_config": {"model_type": "mistral",
      "max_position_embeddings": 32768, "num_key_value_heads": 8, "rope_theta": 1000000.0,
      "sliding_window": null}})");
  EXPECT_EQ(letters(next), std::string(32, 'f'));
  EXPECT_EQ(refusal(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1})"),
            "posenc: config.json: num_hidden_layers must be given, and is absent")
      << "a whole file has them";
}

TEST(families, internlm_gives_its_rule_as_rotary) {
  std::string const text = R"({"model_type": "internlm", "num_hidden_layers": 1,
      "num_attention_heads": 40, "hidden_size": 5120, "max_position_embeddings": 4096, "rotary": )";
  auto const dynamic = read(text + R"({"base": 10000, "type": "dynamic", "factor": 1.0}})");
  EXPECT_EQ(dynamic.kinds[0].rotary[0].rule, "dynamic");
  auto const plain = read(text + R"({"base": 20000, "type": "origin"}})");
  EXPECT_EQ(inv_freq(plain.kinds[0]), oracle::default_rule(128, 2e4));
}

TEST(families, minicpm_and_dbrx_are_read) {
  auto const minicpm = read(R"({"model_type": "minicpm", "num_hidden_layers": 40,
      "num_attention_heads": 36, "hidden_size": 2304, "max_position_embeddings": 4096,
      "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256})");
  EXPECT_EQ(inv_freq(minicpm.kinds[0]), oracle::default_rule(64, 1e4));
  auto const dbrx = read(R"({"model_type": "dbrx", "n_layers": 40, "n_heads": 48, "d_model": 6144,
      "max_seq_len": 32768, "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000}})");
  EXPECT_EQ(inv_freq(dbrx.kinds[0]), oracle::default_rule(128, 5e5));
}

TEST(families, encoders_and_speech_models_have_learned_embeddings) {
  auto const xlm = read(R"({"model_type": "xlm-roberta", "num_hidden_layers": 12,
      "num_attention_heads": 12, "hidden_size": 768, "max_position_embeddings": 514,
      "position_embedding_type": "absolute"})");
  EXPECT_EQ(xlm.embedding, "learned");
  auto const whisper = read(R"({"model_type": "whisper", "num_hidden_layers": 32, "d_model": 1280,
      "decoder_layers": 4, "decoder_attention_heads": 20, "encoder_layers": 32,
      "max_source_positions": 1500, "max_target_positions": 448})");
  EXPECT_EQ(whisper.layers, 4u);
  EXPECT_EQ(whisper.context, 448u);
  EXPECT_EQ(whisper.embedding, "learned");
  EXPECT_EQ(whisper.kinds[0].head_dim, 64u);
  auto const bart = read(R"({"model_type": "bart", "num_hidden_layers": 12, "d_model": 1024,
      "decoder_layers": 12, "decoder_attention_heads": 16, "max_position_embeddings": 1024,
      "static_position_embeddings": false})");
  EXPECT_EQ(bart.embedding, "learned");
}

TEST(families, multi_head_latent_attention_rotates_the_last_dims) {
  for (std::string const type : {"glm4_moe_lite", "youtu"}) {
    auto const model = read(R"({"model_type": ")" + type + R"(", "num_hidden_layers": 47,
        "num_attention_heads": 20, "hidden_size": 2048, "qk_nope_head_dim": 192,
        "qk_rope_head_dim": 64, "v_head_dim": 256, "rope_theta": 1000000, "rope_interleave": true,
        "routed_scaling_factor": 1.8, "partial_rotary_factor": 1.0})");
    EXPECT_TRUE(is_interleaved(model.kinds[0]));
    EXPECT_EQ(model.kinds[0].rotary[0].block.first_dim(256, 64), 192u);
  }
}

TEST(families, step_3_5_lists_its_base_and_its_part_for_each_layer) {
  auto const model = read(R"({"model_type": "step3p5", "num_hidden_layers": 4,
      "num_nextn_predict_layers": 1, "num_attention_heads": 64, "hidden_size": 4096,
      "head_dim": 128, "sliding_window": 512, "max_position_embeddings": 262144,
      "rope_theta": [5000000.0, 10000.0, 10000.0, 10000.0, 10000.0],
      "partial_rotary_factors": [0.5, 1.0, 1.0, 1.0, 1.0],
      "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                      "sliding_attention", "sliding_attention"],
      "rope_scaling": {"rope_type": "llama3", "factor": 2.0,
          "original_max_position_embeddings": 131072, "low_freq_factor": 1.0,
          "high_freq_factor": 32.0}, "yarn_only_types": ["full_attention"],
      "attention_other_setting": {"attention_type": "sliding_attention",
          "num_attention_heads": 96, "num_attention_groups": 8, "head_dim": 128}})");
  EXPECT_EQ(letters(model), "fsss");
  EXPECT_EQ(model.kind_of(0).rotary[0].rule, "llama3");
  EXPECT_EQ(inv_freq(model.kind_of(0)).size(), 32u);
  EXPECT_EQ(inv_freq(model.kind_of(0))[0], 1);
  EXPECT_EQ(inv_freq(model.kind_of(1)), oracle::default_rule(128, 1e4));
  EXPECT_EQ(model.kind_of(0).softmax_factor, 1);
}

TEST(families, qwen_omni_has_its_text_model_in_the_thinker) {
  auto const model = read(R"({"model_type": "qwen2_5_omni", "thinker_config": {
      "model_type": "qwen2_5_omni_thinker", "position_id_per_seconds": 25, "text_config": {
      "model_type": "qwen2_5_omni_text", "num_hidden_layers": 28, "num_attention_heads": 28,
      "hidden_size": 3584, "rope_theta": 1000000.0, "use_sliding_window": false,
      "sliding_window": 32768, "max_window_layers": 28, "rope_scaling": {"type": "default",
      "rope_type": "default", "mrope_section": [16, 24, 24]}}}, "talker_config": {"rope_x": 1}})");
  EXPECT_EQ(letters(model), std::string(28, 'f'));
  EXPECT_EQ(axis_letters(model.kinds[0]),
            std::string(16, 't') + std::string(24, 'h') + std::string(24, 'w'));
}

// Index heads and pooled keys.

std::size_t first_dim(index_heads const& index) {
  auto const dims = index.rotary.frequencies.at(1).rotary_dim();
  return index.rotary.block.first_dim(index.head_dim, dims);
}

TEST(families, deepseek_v3_2_and_glm_5_choose_keys_by_index_heads) {
  std::string const sizes = R"("num_hidden_layers": 6, "num_attention_heads": 128,
      "hidden_size": 7168, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "index_head_dim": 128, "index_topk": 2048, "rope_theta": 10000, "model_type": )";
  auto const v32 = read("{" + sizes + R"("deepseek_v32", "index_n_heads": 64})");
  auto const& kind = v32.kinds.at(0);
  EXPECT_TRUE(is_interleaved(kind));
  ASSERT_TRUE(kind.index);
  EXPECT_EQ(kind.index->heads, 64u);
  EXPECT_EQ(kind.index->chosen, 2048u);
  EXPECT_FALSE(std::holds_alternative<interleaved>(kind.index->rotary.layout));
  EXPECT_EQ(first_dim(*kind.index), 0u);
  EXPECT_EQ(kind.index->rotary.frequencies.at(1).pairs(), 32u);
  auto const glm = read("{" + sizes + R"("glm_moe_dsa", "index_n_heads": 32, "index_topk_freq": 2,
      "index_skip_topk_offset": 3})");
  EXPECT_TRUE(std::holds_alternative<interleaved>(glm.kind_of(0).index->rotary.layout));
  EXPECT_EQ(glm.kind_of(0).index->heads, 32u);
  std::string shared;
  for (std::size_t i = 0; i < 6; ++i) shared += glm.kind_of(i).shares_index ? 's' : 'F';
  EXPECT_EQ(shared, "FFFsFs");
  EXPECT_FALSE(glm.kind_of(3).index);
  EXPECT_TRUE(read("{" + sizes + R"("glm_moe_dsa", "index_topk_pattern": "FSSFSS"})")
                  .kind_of(2)
                  .shares_index);
  EXPECT_EQ(
      refusal("{" + sizes + R"("glm_moe_dsa", "index_topk_pattern": "SF"})"),
      "posenc: config.json: index_topk_pattern must begin with a layer of its own choice, got "
      "the string \"SF\"");
}

TEST(families, minimax_m3_chooses_blocks_of_keys) {
  auto const model = read(R"({"model_type": "minimax_m3_vl", "text_config": {
      "num_hidden_layers": 3, "num_attention_heads": 64, "hidden_size": 6144, "head_dim": 128,
      "rope_theta": 5000000, "sparse_attention_config": {"sparse_attention_freq": [0, 1, 1],
      "sparse_num_index_heads": 4, "sparse_index_dim": 128, "sparse_block_size": 128,
      "sparse_topk_blocks": 16, "sparse_local_block": 1}}})");
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(64, 5e6));
  EXPECT_FALSE(model.kind_of(0).index);
  auto const& index = *model.kind_of(2).index;
  EXPECT_EQ(index.heads, 4u);
  EXPECT_EQ(index.block, 128u);
  EXPECT_EQ(index.chosen, 16u);
  EXPECT_EQ(index.local_blocks, 1u);
  EXPECT_EQ(first_dim(index), 0u);
  EXPECT_EQ(refusal(R"({"model_type": "minimax_m3_vl", "num_hidden_layers": 1,
      "num_attention_heads": 64, "hidden_size": 6144, "layer_types": ["minimax_m3_sparse"],
      "index_head_dim": 32})"),
            "posenc: config.json: index_head_dim must have room for the 64 dims that rotate, got "
            "32");
  auto const with = [](std::string const& keys) {
    return R"({"model_type": "minimax_m3", "num_hidden_layers": 3, "num_attention_heads": 64,
      "hidden_size": 6144, "sparse_attention_config": {"use_sparse_attention": true,
      "sparse_attention_freq": [0, 1, 1], )" +
           keys + "}}";
  };
  EXPECT_TRUE(read(with(R"("sparse_disable_index_value": [0, 1, 1], "sparse_init_block": 0,
      "sparse_score_type": "max")"))
                  .kind_of(1)
                  .index);
  for (auto const* wrong :
       {R"("sparse_disable_index_value": [0, 1, 0])", R"("sparse_init_block": 1)",
        R"("sparse_disable_index_value": [1])", R"("sparse_score_type": "sum")"})
    EXPECT_NE(refusal(with(wrong)).find("sparse_attention_config: sparse_"), std::string::npos)
        << wrong;
}

TEST(families, qwen_4_pools_index_keys_in_one_layer_of_4) {
  auto const model = read(R"({"model_type": "qwen4_exp", "text_config": {
      "model_type": "qwen4_exp_text", "num_hidden_layers": 8, "num_attention_heads": 16,
      "hidden_size": 2048, "head_dim": 256, "indexer_n_heads": 16, "indexer_kv_heads": 1,
      "indexer_head_dim": 128, "indexer_budget": 2048, "indexer_compress_ratio": 4,
      "rope_parameters": {"rope_theta": 10000000, "rope_type": "default",
      "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10], "mrope_interleaved": true}}})");
  EXPECT_EQ(letters(model), "---f---f");
  auto const& kind = model.kind_of(3);
  EXPECT_EQ(inv_freq(kind), oracle::default_rule(64, 1e7));
  EXPECT_EQ(axis_letters(kind), "thwthwthwthwthwthwthwthwthwthwth");
  EXPECT_EQ(kind.index->key_stride, 4u);
  EXPECT_EQ(kind.index->block, 4u);
  EXPECT_EQ(kind.index->chosen, 512u);
}

TEST(families, deepseek_v4_pools_keys_by_type_of_layer) {
  auto const model = read(R"({"model_type": "deepseek_v4", "num_hidden_layers": 3,
      "num_attention_heads": 64, "hidden_size": 4096, "head_dim": 512, "qk_rope_head_dim": 64,
      "compress_ratios": [0, 4, 128], "compress_rope_theta": 160000, "sliding_window": 128,
      "rope_theta": 10000, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512})");
  EXPECT_EQ(model.kind_of(0).pooled, 0u);
  EXPECT_EQ(model.kind_of(1).pooled, 4u);
  EXPECT_EQ(model.kind_of(2).pooled, 128u);
  EXPECT_FALSE(model.kind_of(0).index || model.kind_of(2).index);
  auto const& index = *model.kind_of(1).index;
  EXPECT_EQ(index.key_stride, 4u);
  EXPECT_EQ(index.chosen, 512u);
  EXPECT_EQ(first_dim(index), 64u);
  EXPECT_TRUE(std::holds_alternative<interleaved>(index.rotary.layout));
  EXPECT_EQ(index.rotary.frequencies.at(1).inv_freq()[1], oracle::default_rule(64, 160'000)[1]);
}

// The rest.

/// moonshotai/Kimi-Linear-48B-A3B, by its modeling_kimi.py: layers are counted from 1, latent
/// attention has no rotation, and the 64 dims that would rotate stay.
TEST(families, kimi_linear_has_latent_attention_without_rotation) {
  std::string const text = R"({"model_type": "kimi_linear", "num_hidden_layers": 5,
      "num_attention_heads": 32, "hidden_size": 2304, "head_dim": 72, "model_max_length": 1048576,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 10000.0, "rope_scaling": null,
      "linear_attn_config": {"full_attn_layers": [4, 5], "head_dim": 128, "num_heads": 32,
      "kda_layers": )";
  auto const model = read(text + R"([1, 2, 3]}, "mla_use_nope": true})");
  EXPECT_EQ(letters(model), "---nn");
  EXPECT_EQ(model.kind_of(3).head_dim, 192u);
  EXPECT_EQ(model.kind_of(3).softmax_factor, 1);
  EXPECT_EQ(refusal(text + R"([1, 2, 3]}, "mla_use_nope": false})"),
            "posenc: config.json: mla_use_nope must be true: rotation in its latent attention is "
            "not read, got false");
  EXPECT_EQ(refusal(text + R"([1, 2]}, "mla_use_nope": true})"),
            "posenc: config.json: linear_attn_config: kda_layers must hold the layers that "
            "full_attn_layers has not, got a list of 2");
  EXPECT_EQ(refusal(text + R"([0, 1, 2, 3]}, "mla_use_nope": true})"),
            "posenc: config.json: linear_attn_config: kda_layers must hold indices of the 5 "
            "layers, from 1, got a list of 4");
}

TEST(families, nemotron_nas_says_for_each_layer_whether_it_attends) {
  auto const with = [](std::string const& attention) {
    return R"({"model_type": "nemotron-nas", "num_hidden_layers": 2, "num_attention_heads": 64,
      "hidden_size": 8192, "num_key_value_heads": null, "rope_theta": 500000.0,
      "block_configs": [{"attention": {"no_op": false, "window_length": null}, "ffn": {}},
      {"attention": )" +
           attention + "}]}";
  };
  EXPECT_EQ(letters(read(with(R"({"no_op": true, "n_heads_in_group": null})"))), "f-");
  EXPECT_EQ(letters(read(with(R"({"no_op": false, "replace_with_linear": true})"))), "f-");
  EXPECT_EQ(inv_freq(read(with("{}")).kinds.at(0)), oracle::default_rule(128, 5e5));
  EXPECT_EQ(refusal(with(R"({"window_length": 8192})")),
            "posenc: config.json: block_configs[1]: attention: window_length must be null: it is "
            "not read, got 8192");
  EXPECT_EQ(refusal(R"({"model_type": "nemotron-nas", "num_hidden_layers": 2, "head_dim": 128,
      "block_configs": [3]})"),
            "posenc: config.json: block_configs must be a list of objects, got a list of 1");
}

TEST(families, ling_without_rotation_has_narrow_heads) {
  auto const with = [](std::string const& flag) {
    return read(R"({"model_type": "bailing_hybrid", "num_hidden_layers": 8,
      "num_attention_heads": 16, "hidden_size": 1536, "head_dim": 128, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "rope_theta": 6000000, "layer_group_size": 4, "use_mla_nope": )" +
                flag + "}");
  };
  EXPECT_EQ(letters(with("true")), "---n---n");
  EXPECT_EQ(with("true").kind_of(3).head_dim, 128u);
  EXPECT_EQ(letters(with("false")), "---f---f");
  EXPECT_EQ(with("false").kind_of(3).head_dim, 192u);
}

/// microsoft/Phi-3-vision-128k-instruct and Phi-4-multimodal-instruct, with factors of their own.
TEST(families, phi_with_images_rotates_as_phi) {
  auto const factors = [](std::size_t pairs, char const* factor) {
    auto all = repeated(std::string(factor) + ", ", pairs);
    return "[" + all.substr(0, all.size() - 2) + "]";
  };
  auto const with = [&](std::string const& keys, std::size_t pairs) {
    auto const model = read(R"({"num_hidden_layers": 32, "hidden_size": 3072,
        "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
        "sliding_window": 131072, "embd_layer": {"embedding_cls": "image",
        "hd_transform_order": "sub_glb"}, "rope_theta": 10000.0, "rope_scaling": {
        "type": "longrope", "short_factor": )" +
                            factors(pairs, "1.5") + R"(, "long_factor": )" + factors(pairs, "4") +
                            "}, " + keys + "}");
    EXPECT_EQ(letters(model), std::string(32, 's'));
    EXPECT_EQ(model.kinds[0].window, 131072u);
    EXPECT_FALSE(is_interleaved(model.kinds[0]));
    auto const plain = oracle::default_rule(2 * pairs, 1e4);
    for (bool const is_long : {false, true}) {
      auto const f = model.kinds[0].rotary[0].frequencies.at(is_long ? 4097 : 4096);
      for (std::size_t i = 0; i < pairs; ++i)
        EXPECT_NEAR(f.inv_freq()[i], plain[i] / (is_long ? 4 : 1.5), 1e-15 * plain[i]);
      EXPECT_NEAR(f.attention_factor(), std::sqrt(1 + std::log(32.0) / std::log(4096.0)), 1e-15);
    }
    return model.kinds[0].head_dim;
  };
  EXPECT_EQ(with(R"("model_type": "phi3_v", "num_attention_heads": 32)", 48), 96u);
  EXPECT_EQ(with(R"("model_type": "phi4mm", "num_attention_heads": 24, "full_attn_mod": 1,
      "partial_rotary_factor": 0.75, "attention_bias": false)",
                 48),
            128u);
}

TEST(families, mimo_slides_as_qwen_2) {
  std::string const text = R"({"model_type": "mimo", "num_hidden_layers": 3, "head_dim": 128,
      "num_attention_heads": 32, "hidden_size": 4096, "rope_theta": 640000, "use_mrope": false,
      "sliding_window": 32768, "max_window_layers": 2, "use_sliding_window": )";
  EXPECT_EQ(letters(read(text + "false}")), "fff");
  EXPECT_EQ(letters(read(text + "true}")), "ffs");
  EXPECT_EQ(inv_freq(read(text + "false}").kinds[0]), oracle::default_rule(128, 640'000));
}

/// Patch (row, column): pairs 0 to d/4 turn by row * base^(-4j/d), the others by column *
/// base^(-(4j + 2)/d). [modeling_pixtral.py, PixtralRotaryEmbedding]
TEST(families, pixtral_takes_frequencies_by_turns_for_rows_and_columns) {
  auto const model = read(R"({"model_type": "pixtral", "hidden_size": 1024, "image_size": 1540,
      "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "rope_theta": 10000.0,
      "head_dim": 64, "num_channels": 3})");
  EXPECT_EQ(letters(model), std::string(24, 'f'));
  auto const& kind = model.kinds[0];
  EXPECT_FALSE(is_interleaved(kind));
  EXPECT_EQ(axis_letters(kind), std::string(16, 't') + std::string(16, 'h'));
  auto const f = inv_freq(kind);
  ASSERT_EQ(f.size(), 32u);
  for (std::size_t j = 0; j < 16; ++j) {
    auto const exponent = static_cast<double>(4 * j) / 64;
    EXPECT_NEAR(f[j], std::pow(1e4, -exponent), 4e-16 * f[j]);
    EXPECT_NEAR(f[16 + j], std::pow(1e4, -exponent - 2.0 / 64), 4e-16 * f[16 + j]);
  }
  EXPECT_NE(refusal(R"({"model_type": "pixtral", "text_config": {"hidden_size": 64,
      "num_attention_heads": 1, "num_hidden_layers": 1}})"),
            "");
}

TEST(families, ling_has_its_sections_outside) {
  std::string const text = R"("num_hidden_layers": 12, "num_attention_heads": 16,
      "hidden_size": 2048, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "head_dim": 128,
      "partial_rotary_factor": 0.5, "rope_theta": 6000000, "layer_group_size": 5,
      "max_window_layers": 20, "rope_interleave": true)";
  auto const vl = read(R"({"model_type": "bailing_moe_v3_vl", "mrope_section": [12, 10, 10],
      "text_config": {"model_type": "bailing_hybrid", )" +
                       text + "}}");
  EXPECT_EQ(letters(vl), "----f----fff");
  EXPECT_EQ(axis_letters(vl.kind_of(4)), repeated("hw", 10) + std::string(12, 't'));
  EXPECT_TRUE(is_interleaved(vl.kind_of(4)));
  EXPECT_EQ(inv_freq(vl.kind_of(4)), oracle::default_rule(64, 6e6));
  EXPECT_EQ(vl.kind_of(4).rotary[0].block.first_dim(192, 64), 128u);
  EXPECT_TRUE(read(R"({"model_type": "bailing_moe_v3_vl", "text_config": {
      "model_type": "bailing_hybrid", )" +
                   text + "}}")
                  .kind_of(4)
                  .rotary[0]
                  .axes);
  auto const flat = read(R"({"model_type": "bailing_hybrid", )" + text + "}");
  EXPECT_FALSE(flat.kind_of(4).rotary[0].axes);
  EXPECT_EQ(refusal(R"({"model_type": "bailing_hybrid", )" + text +
                    R"(, "rope_scaling": {"type": "yarn", "factor": 4}})"),
            "posenc: config.json: rope_scaling: type must be default for bailing_hybrid, got the "
            "string \"yarn\"");
}

TEST(families, ming_says_video_rope) {
  auto const model = read(R"({"model_type": "bailing_moe_v2", "num_hidden_layers": 1,
      "num_attention_heads": 32, "hidden_size": 4096, "head_dim": 128, "rope_theta": 600000,
      "partial_rotary_factor": 0.5, "rope_scaling": {"type": "video_rope",
      "mrope_section": [8, 12, 12]}, "max_window_layers": 28, "use_sliding_window": false})");
  EXPECT_EQ(axis_letters(model.kinds[0]), repeated("hw", 12) + std::string(8, 't'));
  EXPECT_FALSE(is_interleaved(model.kinds[0]));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(64, 6e5));
}

TEST(families, vision_models_may_be_axial) {
  auto const m3 = read(R"({"model_type": "minimax_m3_vl_vision", "num_hidden_layers": 32,
      "num_attention_heads": 16, "hidden_size": 1280, "rope_parameters": {"rope_type": "axial",
      "rope_theta": 10000.0}})");
  EXPECT_EQ(axis_letters(m3.kinds[0]),
            std::string(13, 't') + std::string(13, 'h') + std::string(13, 'w'));
  auto const one = oracle::default_rule(26, 1e4);
  EXPECT_EQ(inv_freq(m3.kinds[0])[14], one[1]);
  EXPECT_EQ(inv_freq(read(R"({"model_type": "minimax_m3_vl_vision", "num_hidden_layers": 1,
      "num_attention_heads": 16, "hidden_size": 1024})")
                         .kinds[0])
                .size(),
            30u)
      << "20 dims of each axis, for 21 are not even";
  auto const step = read(R"({"model_type": "step3p5_vision", "num_hidden_layers": 47,
      "num_attention_heads": 16, "hidden_size": 1536, "max_position_embeddings": 2704})");
  EXPECT_EQ(inv_freq(step.kinds[0]).size(), 48u);
  EXPECT_EQ(inv_freq(step.kinds[0])[24], 1);
  EXPECT_NE(refusal(R"({"model_type": "llama", "num_hidden_layers": 1, "head_dim": 64,
      "rope_parameters": {"rope_type": "axial"}})"),
            "");
}

TEST(families, drope_has_dropped_rope) {
  std::string const text = R"({"model_type": "llama_drope", "num_hidden_layers": 2,
      "num_attention_heads": 32, "hidden_size": 2048, "rope_theta": 10000, "attention_type": )";
  EXPECT_EQ(letters(read(text + R"("nope"})")), "nn");
  EXPECT_EQ(read(text + R"("qk_norm_nope", "softmax_scale": 1.0})").kinds[0].softmax_factor, 8);
  EXPECT_EQ(read(text + R"("nope"})").kinds[0].softmax_factor, 1);
  EXPECT_EQ(refusal(text + R"("rope"})"),
            "posenc: config.json: attention_type must end in nope, got the string \"rope\"");
}

TEST(families, inkling_is_refused_for_its_bias) {
  EXPECT_NE(refusal(R"({"model_type": "inkling_text", "num_hidden_layers": 1})")
                .find("Inkling's bias is made of each query"),
            std::string::npos);
}

TEST(families, falcon_h1_multiplies_its_keys) {
  auto const model = read(R"({"model_type": "falcon_h1", "num_hidden_layers": 44, "head_dim": 128,
      "num_attention_heads": 32, "hidden_size": 5120, "key_multiplier": 0.0375,
      "attention_in_multiplier": 1.0, "attention_out_multiplier": 0.04, "rope_theta": 1e11,
      "mlp_multipliers": [0.88, 0.11], "ssm_multipliers": [0.35], "mamba_chunk_size": 128,
      "embedding_multiplier": 5.6, "lm_head_multiplier": 0.0195, "rope_scaling": null})");
  EXPECT_EQ(model.kinds[0].softmax_factor, 0.0375);
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 1e11));
}

TEST(families, jamba_has_attention_in_one_layer_of_a_period_and_no_rope) {
  std::string const text = R"({"model_type": "jamba", "num_hidden_layers": 16,
      "num_attention_heads": 32, "hidden_size": 4096, "sliding_window": null)";
  EXPECT_EQ(letters(read(text + R"(, "attn_layer_period": 8, "attn_layer_offset": 4})")),
            "----n-------n---");
  EXPECT_EQ(letters(read(text + "}")), "----n-------n---");
  EXPECT_EQ(letters(read(text + R"(, "attn_layer_period": 7, "attn_layer_offset": 0})")),
            "n------n------n-");
}

TEST(families, cohere_2_moe_rotates_dense_layers_too) {
  std::string const text = R"({"model_type": "cohere2_moe", "num_hidden_layers": 5,
      "num_attention_heads": 16, "hidden_size": 2048, "sliding_window": 4096,
      "sliding_window_pattern": 4, "rope_theta": 50000, "layer_types": ["full_attention",
      "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])";
  EXPECT_EQ(letters(read(text + R"(, "first_k_dense_replace": 1})")), "fsssn");
  EXPECT_EQ(letters(read(text + "}")), "nsssn");
  EXPECT_EQ(letters(read(text + R"(, "mlp_layer_types": ["sparse", "sparse", "sparse", "sparse",
      "dense"]})")),
            "nsssf");
  EXPECT_EQ(letters(read(text + R"(, "first_k_dense_replace": 1,
      "prefix_dense_sliding_window_pattern": 2})")),
            "nsssn");
  EXPECT_TRUE(is_interleaved(read(text + "}").kind_of(1)));
}

TEST(families, nomic_bert_has_the_keys_of_gpt_2_and_rotates) {
  std::string const text = R"({"model_type": "nomic_bert", "n_layer": 12, "n_head": 12,
      "n_embd": 768, "n_positions": 8192, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
      "rotary_emb_scale_base": null, "max_trained_positions": 2048, "causal": false,
      "rotary_scaling_factor": null, "rotary_emb_interleaved": )";
  EXPECT_EQ(inv_freq(read(text + "false}").kinds[0]), oracle::default_rule(64, 1000));
  EXPECT_FALSE(is_interleaved(read(text + "false}").kinds[0]));
  EXPECT_TRUE(is_interleaved(read(text + "true}").kinds[0]));
}

TEST(families, minicpm_3_has_latent_attention_of_halves) {
  auto const model = read(R"({"model_type": "minicpm3", "num_hidden_layers": 62,
      "num_attention_heads": 40, "hidden_size": 2560, "qk_nope_head_dim": 64,
      "qk_rope_head_dim": 32, "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256})");
  EXPECT_FALSE(is_interleaved(model.kinds[0]));
  EXPECT_EQ(model.kinds[0].rotary[0].block.first_dim(96, 32), 64u);
}

TEST(families, paddleocr_says_that_its_pairs_are_halves) {
  std::string const text = R"({"model_type": "paddleocr_vl", "num_hidden_layers": 18,
      "num_attention_heads": 16, "hidden_size": 1024, "head_dim": 128, "rope_theta": 500000,
      "use_3d_rope": true, "rope_scaling": {"mrope_section": [16, 24, 24], "rope_type": "default",
      "type": "default"}, "rope_is_neox_style": )";
  EXPECT_FALSE(is_interleaved(read(text + "true}").kinds[0]));
  EXPECT_TRUE(is_interleaved(read(text + "false}").kinds[0]));
  EXPECT_EQ(axis_letters(read(text + "true}").kinds[0]),
            std::string(16, 't') + std::string(24, 'h') + std::string(24, 'w'));
}

// Keys of published files whose names say more than they do.

TEST(families, have_keys_that_do_not_act) {
  auto const read_with = [](std::string const& type, std::string const& keys) {
    return read(R"({"model_type": ")" + type + R"(", "num_hidden_layers": 2,
        "num_attention_heads": 16, "hidden_size": 4096, )" +
                keys + "}");
  };
  read_with("gptj", R"("rotary": true, "rotary_dim": 64, "scale_attn_weights": true)");
  read_with("bloom", R"("offset_alibi": 100, "seq_length": 2048)");
  read_with("chatglm", R"("original_rope": true, "seq_length": 8192, "kv_channels": 128)");
  read_with("phi3", R"("full_attn_mod": 1, "interpolate_factor": 1)");
  read_with("distilbert", R"("sinusoidal_pos_embds": false, "max_position_embeddings": 512)");
  read_with("mimo_v2_flash", R"("attention_chunk_size": 128, "sliding_window": 128, "head_dim": 192,
      "swa_head_dim": 192, "swa_v_head_dim": 128, "swa_num_attention_heads": 64)");
  read_with("qwen2",
            R"("use_mrope": false, "sliding_window": 131072, "use_sliding_window": false)");
  EXPECT_EQ(
      inv_freq(read_with("lfm2", R"("theta": 500000.0, "block_ffn_dim_multiplier": 1.0)").kinds[0]),
      oracle::default_rule(256, 5e5));
  EXPECT_NE(refusal(R"({"model_type": "qwen2", "num_hidden_layers": 1, "head_dim": 64,
      "dual_chunk_attention_config": {"chunk_size": 262144}})"),
            "");
  EXPECT_NE(refusal(R"({"model_type": "qwen2", "num_hidden_layers": 1, "head_dim": 64,
      "use_mrope": true})"),
            "");
}

TEST(families, have_the_keys_that_their_classes_write) {
  EXPECT_EQ(letters(read(R"({"model_type": "minimax", "num_hidden_layers": 2, "head_dim": 128,
      "full_attn_alpha_factor": 3.5, "full_attn_beta_factor": 1, "sliding_window": null})")),
            "f-");
  EXPECT_EQ(letters(read(R"({"model_type": "nemotron_h", "head_dim": 128, "chunk_size": 128,
      "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"]})")),
            "--n-");
  auto const distilbert = read(R"({"model_type": "distilbert", "dim": 768, "n_heads": 12,
      "n_layers": 6, "max_position_embeddings": 512, "sinusoidal_pos_embds": false})");
  EXPECT_EQ(distilbert.kinds[0].head_dim, 64u);
  auto const dense = read(R"({"model_type": "minimax_m3_vl_text", "num_hidden_layers": 1,
      "head_dim": 128, "index_n_heads": 4, "index_head_dim": 128, "index_block_size": 128,
      "index_topk_blocks": 16, "index_local_blocks": 1, "layer_types": ["full_attention"]})");
  EXPECT_FALSE(dense.kinds[0].index);
  EXPECT_EQ(dense.ignored.size(), 5u);
  EXPECT_TRUE(read(R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "head_dim": 512,
      "hc_sinkhorn_iters": 20, "sliding_window": 128, "layer_types": ["sliding_attention"]})")
                  .kinds[0]
                  .sinks);
}

TEST(families, mpt_must_say_whether_it_has_alibi) {
  std::string const text = R"({"model_type": "mpt", "n_layers": 1, "n_heads": 32, "d_model": 4096)";
  EXPECT_EQ(refusal(text + "}"), "posenc: config.json: attn_config must be given, and is absent");
  EXPECT_EQ(refusal(text + R"(, "attn_config": {"qk_ln": false}})"),
            "posenc: config.json: attn_config: alibi must be given, and is absent");
  EXPECT_EQ(read(text + R"(, "attn_config": {"alibi": false}})").embedding, "learned");
  auto const none = read(text + R"(, "learned_pos_emb": false, "attn_config": {"alibi": false}})");
  EXPECT_EQ(none.embedding, "");
  EXPECT_EQ(letters(none), "n");
  EXPECT_TRUE(
      read(text + R"(, "learned_pos_emb": true, "attn_config": {"alibi": true}})").kinds[0].alibi);
}

}  // namespace of_hugging_face_families
}  // namespace
