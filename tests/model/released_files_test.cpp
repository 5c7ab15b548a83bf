// config.json as released, of models that were read wrongly once. The files themselves are not in
// the tree: a test says where the values were read. Keys about weights, tokens and training are
// left out.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "oracle/frequency_rules.hpp"
#include "posenc/model/hugging_face.hpp"

namespace {
namespace of_released_files {

using namespace posenc;

model_description read(std::string const& text) { return read_hugging_face(text, "config.json"); }

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
std::string list_of(std::string const& text, std::size_t times) {
  auto all = repeated(text + ", ", times);
  all.resize(all.size() - 2);
  return all;
}
std::vector<double> inv_freq(layer_description const& kind) {
  auto const f = kind.rotary.at(0).frequencies.at(1);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
bool is_interleaved(layer_description const& kind) {
  return std::holds_alternative<interleaved>(kind.rotary.at(0).layout);
}

// The scale of scores.

/// ibm-granite/granite-4.0-h-1b, in a test of a converter that lists its keys.
TEST(released_files, granite_4_h_1b) {
  auto const layers = list_of(R"("mamba", "mamba", "mamba", "mamba", "mamba", "attention")", 6) +
                      R"(, "mamba", "mamba", "mamba", "mamba")";
  auto const model = read(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 40,
      "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 2048,
      "mamba_chunk_size": 256, "embedding_multiplier": 12, "logits_scaling": 8,
      "residual_multiplier": 0.22, "attention_multiplier": 0.015625,
      "position_embedding_type": "nope", "num_local_experts": 0, "layer_types": [)" +
                          layers + "]}");
  EXPECT_EQ(letters(model), repeated("-----n", 6) + "----");
  EXPECT_EQ(model.kind_of(5).softmax_factor, 0.125);
}

/// ibm-granite/granite-swash-2b at revision af1e3227, in onnxruntime/mobius.
TEST(released_files, granite_swash_2b) {
  auto const sliding = R"("sliding_attention", "sliding_attention", "sliding_attention")";
  auto const model = read(R"({"model_type": "granite_swa", "hidden_size": 2560,
      "num_hidden_layers": 24, "num_attention_heads": 20, "num_key_value_heads": 4,
      "max_position_embeddings": 8192, "sliding_window": 128, "embedding_multiplier": 12,
      "residual_multiplier": 0.28, "logits_scaling": 10, "attention_multiplier": 0.0078125,
      "rope_theta": 10000, "layer_types": [)" +
                          list_of(std::string(R"("full_attention", )") + sliding, 6) + "]}");
  EXPECT_EQ(letters(model), repeated("fsss", 6));
  EXPECT_DOUBLE_EQ(model.kind_of(0).softmax_factor, 0.0078125 * std::sqrt(128.0));
  EXPECT_EQ(inv_freq(model.kind_of(1)), oracle::default_rule(128, 1e4));
  EXPECT_EQ(model.kind_of(1).window, 128u);
  EXPECT_TRUE(model.kind_of(0).sinks);
}

/// ibm-granite/granite-3.3-8b-instruct, in a listing of its weights beside its config.json.
TEST(released_files, granite_3_3_8b) {
  auto const model = read(R"({"attention_bias": false, "attention_multiplier": 0.0078125,
      "embedding_multiplier": 12.0, "hidden_size": 4096, "logits_scaling": 16.0,
      "max_position_embeddings": 131072, "model_type": "granite", "num_attention_heads": 32,
      "num_hidden_layers": 40, "num_key_value_heads": 8, "residual_multiplier": 0.22,
      "rope_scaling": null, "rope_theta": 10000000.0, "use_cache": true})");
  EXPECT_EQ(letters(model), std::string(40, 'f'));
  EXPECT_DOUBLE_EQ(model.kinds[0].softmax_factor, 0.0078125 * std::sqrt(128.0));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 1e7));
}

/// google/vaultgemma-1b, in keras-hub's test of its converter.
TEST(released_files, vaultgemma_1b) {
  auto const model = read(R"({"model_type": "vaultgemma", "num_hidden_layers": 26,
      "num_attention_heads": 4, "num_key_value_heads": 4, "hidden_size": 1152, "head_dim": 256,
      "query_pre_attn_scalar": 256, "sliding_window": 512})");
  EXPECT_EQ(letters(model), repeated("sf", 13));
  EXPECT_EQ(model.kinds[0].softmax_factor, 1);
  EXPECT_EQ(model.kinds[0].window, 512u);
}

// Pairs.

/// baidu/ERNIE-4.5-21B-A3B, in two engines' tests.
TEST(released_files, ernie_4_5_21b_a3b) {
  auto const model = read(R"({"model_type": "ernie4_5_moe", "hidden_size": 2560,
      "max_position_embeddings": 131072, "num_attention_heads": 20, "num_key_value_heads": 4,
      "head_dim": null, "num_hidden_layers": 28, "rope_theta": 500000, "moe_num_experts": 64,
      "moe_layer_start_index": 1, "moe_layer_end_index": 27, "moe_layer_interval": 1})");
  EXPECT_TRUE(is_interleaved(model.kinds[0]));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 5e5));
}

/// kyutai/helium-1-preview-2b, in an engine's test, "field for field".
TEST(released_files, helium_1_preview_2b) {
  auto const model = read(R"({"attention_bias": false, "attention_dropout": 0.0, "head_dim": 128,
      "hidden_size": 2560, "max_position_embeddings": 4096, "model_type": "helium",
      "num_attention_heads": 20, "num_hidden_layers": 24, "num_key_value_heads": 20,
      "rope_theta": 100000.0, "use_cache": true})");
  EXPECT_TRUE(is_interleaved(model.kinds[0]));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 1e5));
}

/// THUDM/chatglm-6b, printed by its own configuration class. There is no rope_theta.
TEST(released_files, chatglm_6b) {
  auto const model = read(R"({"hidden_size": 4096, "inner_hidden_size": 16384,
      "layernorm_epsilon": 1e-05, "max_sequence_length": 2048, "model_type": "chatglm",
      "num_attention_heads": 32, "num_layers": 28, "position_encoding_2d": true,
      "pre_seq_len": null, "prefix_projection": false, "quantization_bit": 0})");
  ASSERT_EQ(model.kinds[0].rotary.size(), 2u);
  for (std::size_t block = 0; block < 2; ++block) {
    auto const& rotary = model.kinds[0].rotary[block];
    EXPECT_FALSE(std::holds_alternative<interleaved>(rotary.layout));
    EXPECT_EQ(rotary.block.first_dim(128, 64), 64 * block);
    EXPECT_EQ(rotary.axes->axis(0), block);
  }
}

// Layers that do not rotate.

/// LGAI-EXAONE/K-EXAONE-236B-A23B, in TensorRT-LLM's test, which shortens layers and window: 48
/// and 128 are the model card's.
TEST(released_files, k_exaone) {
  auto const types = list_of(
      R"("sliding_attention", "sliding_attention", "sliding_attention", "full_attention")", 12);
  auto const model = read(R"({"first_last_k_dense_replace": 1, "head_dim": 128,
      "hidden_size": 6144, "max_position_embeddings": 262144, "model_type": "exaone_moe",
      "num_attention_heads": 64, "num_hidden_layers": 48, "num_key_value_heads": 8,
      "rope_scaling": null, "rope_theta": 1000000, "routed_scaling_factor": 2.5,
      "scoring_func": "sigmoid", "sliding_window": 128, "sliding_window_pattern": "LLLG",
      "layer_types": [)" + types +
                          "]}");
  EXPECT_EQ(letters(model), repeated("sssn", 12));
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(128, 1e6));
}

/// arcee-ai/Trinity-Nano-Preview, in a test that says it matches the file.
TEST(released_files, trinity_nano) {
  auto const model = read(R"({"attention_dropout": 0.0, "global_attn_every_n_layers": 4,
      "head_dim": 128, "hidden_size": 1024, "max_position_embeddings": 131072,
      "model_type": "afmoe", "num_attention_heads": 8, "num_dense_layers": 2,
      "num_hidden_layers": 56, "num_key_value_heads": 2, "rope_scaling": null,
      "rope_theta": 10000, "route_scale": 2.826, "sliding_window": 2048})");
  EXPECT_EQ(letters(model), repeated("sssn", 14));
  EXPECT_EQ(model.kind_of(0).window, 2048u);
}

/// nvidia/Nemotron-H-8B-Base-8K, in three tests.
TEST(released_files, nemotron_h_8b) {
  auto const model = read(R"({"attention_bias": false, "attention_head_dim": 128,
      "chunk_size": 128, "hidden_size": 4096, "hybrid_override_pattern":
      "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", "max_position_embeddings": 8192,
      "model_type": "nemotron_h", "n_groups": 8, "num_attention_heads": 32,
      "num_hidden_layers": 52, "num_key_value_heads": 8, "time_step_limit": [0.0, Infinity]})");
  std::string expected(52, '-');
  expected[7] = expected[18] = expected[29] = expected[40] = 'n';
  EXPECT_EQ(letters(model), expected);
}

/// MiniMaxAI/MiniMax-Text-01's text model, in transformers' test of MiniMax-VL-01.
TEST(released_files, minimax_text_01) {
  auto const model = read(R"({"model_type": "minimax_text_01", "head_dim": 128,
      "hidden_size": 6144, "layernorm_full_attention_alpha": 3.5565588200778455,
      "layernorm_full_attention_beta": 1.0, "max_position_embeddings": 8192,
      "num_attention_heads": 64, "num_hidden_layers": 80, "num_key_value_heads": 8,
      "postnorm": true, "rope_theta": 10000000, "rotary_dim": 64, "shared_moe_mode": "sigmoid",
      "attn_type_list": [)" +
                          list_of("0, 0, 0, 0, 0, 0, 0, 1", 10) + "]}");
  EXPECT_EQ(letters(model), repeated("-------f", 10));
  EXPECT_EQ(inv_freq(model.kind_of(7)), oracle::default_rule(64, 1e7));
}

/// google/recurrentgemma-2b, in an engine's test. Its list has another name than the class's.
TEST(released_files, recurrentgemma_2b) {
  auto const with = [](std::string const& types) {
    return read(R"({"_block_types": [)" + types + R"(], "attention_bias": false,
      "attention_window_size": 2048, "conv1d_width": 4, "head_dim": 256, "hidden_size": 2560,
      "logits_soft_cap": 30.0, "lru_width": 2560, "model_type": "recurrent_gemma",
      "num_attention_heads": 10, "num_hidden_layers": 26, "num_key_value_heads": 1,
      "partial_rotary_factor": 0.5, "rope_theta": 10000.0})");
  };
  auto const model = with(R"("recurrent", "recurrent", "attention")");
  EXPECT_EQ(letters(model), repeated("--s", 8) + "--");
  EXPECT_EQ(inv_freq(model.kind_of(2)), oracle::default_rule(128, 1e4));
  EXPECT_EQ(letters(with(R"("recurrent", "attention")")), repeated("-s", 13));
}

/// ibm-ai-platform/Bamba-9B, in two tests.
TEST(released_files, bamba_9b) {
  auto const model = read(R"({"model_type": "bamba", "num_hidden_layers": 32,
      "num_attention_heads": 32, "hidden_size": 4096, "mamba_d_state": 128,
      "attn_layer_indices": [9, 18, 27]})");
  std::string expected(32, '-');
  expected[9] = expected[18] = expected[27] = 'f';
  EXPECT_EQ(letters(model), expected);
}

/// Muse Glimmer 30B's text_config, in an engine's test that trims the checkpoint's to these keys.
TEST(released_files, muse_glimmer_30b) {
  auto const sliding = R"("sliding_attention", "sliding_attention", "sliding_attention", )";
  auto const model =
      read(R"({"model_type": "muse_glimmer_text", "hidden_size": 6656,
      "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 2,
      "head_dim": 128, "sliding_window": 2048, "max_position_embeddings": 131072,
      "qk_scale_factor": 3.87, "output_multiplier": 0.19611613513818404,
      "final_logit_softcapping": 20.0, "tie_word_embeddings": false, "layer_types": [)" +
           list_of(std::string(sliding) + R"("full_attention")", 13) +
           R"(], "layer_rope_theta": [)" + list_of("500000.0, 500000.0, 500000.0, 0", 13) +
           R"(], "rope_parameters": {"rope_theta": 500000.0,
                              "rope_type": "default"}})");
  EXPECT_EQ(letters(model), repeated("sssn", 13));
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(128, 5e5));
  EXPECT_DOUBLE_EQ(model.kind_of(0).softmax_factor, 3.87);
}

/// Qwen 4's files name the type of its sparse layers qwen_sparse_attention, as several engines'
/// tests have it, or full_attention.
TEST(released_files, qwen_4_exp) {
  auto const with = [](std::string const& type) {
    auto const linear = R"("linear_attention", "linear_attention", "linear_attention", ")";
    return read(R"({"model_type": "qwen4_exp", "text_config": {"model_type": "qwen4_exp_text",
        "num_hidden_layers": 40, "hidden_size": 2048, "num_attention_heads": 16,
        "num_key_value_heads": 2, "head_dim": 256, "max_position_embeddings": 32768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0,
        "partial_rotary_factor": 0.25}, "indexer_n_heads": 24, "indexer_budget": 2048,
        "indexer_compress_ratio": 4, "layer_types": [)" +
                list_of(linear + type + '"', 10) + "]}}");
  };
  for (auto const* type : {"qwen_sparse_attention", "full_attention"}) {
    auto const model = with(type);
    EXPECT_EQ(letters(model), repeated("---f", 10));
    EXPECT_EQ(inv_freq(model.kind_of(3)), oracle::default_rule(64, 1e4));
    EXPECT_EQ(model.kind_of(3).index->heads, 24u);
  }
}

// Base and dims.

/// tencent/Hy3 at revision 716aa724, in a registry of its keys.
TEST(released_files, hy3) {
  auto const model = read(R"({"model_type": "hy_v3", "num_hidden_layers": 80,
      "num_nextn_predict_layers": 1, "hidden_size": 4096, "num_attention_heads": 64,
      "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 262144,
      "qk_norm": true, "first_k_dense_replace": 1, "router_scaling_factor": 2.826,
      "rope_parameters": {"rope_type": "default", "rope_theta": 11158840.0}})");
  EXPECT_EQ(letters(model), std::string(80, 'f'));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 11'158'840));
}

/// nvidia/MiniMax-M3-NVFP4, in an engine's test, without its sparse_attention_config.
TEST(released_files, minimax_m3) {
  auto const model = read(R"({"model_type": "minimax_m3_vl", "text_config": {
      "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64,
      "num_key_value_heads": 4, "head_dim": 128, "max_position_embeddings": 1048576,
      "rope_theta": 5000000, "rotary_dim": 64, "partial_rotary_factor": 0.5,
      "use_qk_norm": true, "scoring_func": "sigmoid", "routed_scaling_factor": 2.0}})");
  EXPECT_EQ(model.layers, 60u);
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(64, 5e6));
}

/// answerdotai/ModernBERT-base, in a server's test.
TEST(released_files, modernbert_base) {
  auto const model = read(R"({"attention_bias": false, "classifier_pooling": "mean",
      "deterministic_flash_attn": false, "hidden_size": 768, "num_hidden_layers": 22,
      "num_attention_heads": 12, "max_position_embeddings": 8192, "local_attention": 128,
      "global_attn_every_n_layers": 3, "local_rope_theta": 10000.0,
      "global_rope_theta": 160000.0, "model_type": "modernbert",
      "position_embedding_type": "absolute"})");
  EXPECT_EQ(letters(model), repeated("fss", 7) + "f");
  EXPECT_EQ(model.kind_of(1).window, 65u);
  EXPECT_EQ(model.notes.at(1),
            "The window is symmetric: half of its keys lie before the query, half after it.");
  EXPECT_EQ(inv_freq(model.kind_of(0)), oracle::default_rule(64, 160'000));
}

// Windows.

/// Qwen/Qwen1.5-MoE-A2.7B-Chat, in two listings of its config.json: nothing slides.
TEST(released_files, qwen_1_5_moe) {
  std::string const text = R"({"attention_dropout": 0.0, "decoder_sparse_step": 1,
      "hidden_size": 2048, "max_position_embeddings": 32768, "max_window_layers": 21,
      "model_type": "qwen2_moe", "num_attention_heads": 16, "num_hidden_layers": 24,
      "num_key_value_heads": 16, "rope_theta": 1000000.0, "sliding_window": 32768,
      "use_sliding_window": )";
  EXPECT_EQ(letters(read(text + "false}")), std::string(24, 'f'));
  EXPECT_EQ(letters(read(text + "true}")), repeated("sf", 10) + "sfff") << "below layer 21";
}

// Refused before.

/// databricks/dbrx-instruct, in an engine's test, with what the class left in attn_config.
TEST(released_files, dbrx_instruct) {
  auto const model = read(R"({"attn_config": {"return_dict": true, "output_hidden_states": false,
      "torch_dtype": null, "tie_word_embeddings": true, "max_length": 20, "temperature": 1.0,
      "top_k": 50, "top_p": 1.0, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "model_type": "",
      "attn_pdrop": 0, "clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000}, "d_model": 6144,
      "emb_pdrop": 0.0, "ffn_config": {"temperature": 1.0, "model_type": "",
      "ffn_hidden_size": 10752, "moe_num_experts": 16}, "max_seq_len": 32768,
      "model_type": "dbrx", "n_heads": 48, "n_layers": 40, "use_cache": true})");
  EXPECT_EQ(letters(model), std::string(40, 'f'));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(128, 5e5));
}

/// zai-org/GLM-4.7-Flash, in two tests.
TEST(released_files, glm_4_7_flash) {
  auto const model = read(R"({"attention_bias": false, "attention_dropout": 0.0,
      "hidden_size": 2048, "max_position_embeddings": 202752, "model_type": "glm4_moe_lite",
      "topk_method": "noaux_tc", "num_attention_heads": 20, "routed_scaling_factor": 1.8,
      "first_k_dense_replace": 1, "num_hidden_layers": 47, "num_key_value_heads": 20,
      "num_nextn_predict_layers": 1, "partial_rotary_factor": 1.0, "rope_scaling": null,
      "rope_theta": 1000000, "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192,
      "qk_rope_head_dim": 64, "v_head_dim": 256})");
  EXPECT_EQ(letters(model), std::string(47, 'f'));
  EXPECT_TRUE(is_interleaved(model.kinds[0]));
  EXPECT_EQ(inv_freq(model.kinds[0]), oracle::default_rule(64, 1e6));
  EXPECT_EQ(model.kinds[0].rotary[0].block.first_dim(256, 64), 192u);
}

}  // namespace of_released_files
}  // namespace
