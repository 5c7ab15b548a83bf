#include "program/run/family.hpp"

#include <algorithm>

namespace run {
namespace {

constexpr tensor_name llama_names[]{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
};

std::vector<tensor_name> const norms_on_both_sides{
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"}};

// Models whose files have no "model." in front.
std::vector<tensor_name> const gpt_neox_names{
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"attn_qkv", "attention.query_key_value"},
    {"attn_output", "attention.dense"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"}};

std::vector<family> const families{
    {.hugging_face = "llama mistral qwen2 qwen3 smollm3 granite",
     .gguf = "llama qwen2 qwen3 smollm3 granite"},
    {.hugging_face = "qwen3_moe",
     .gguf = "qwen3moe",
     .renormalises_experts = true},
    {.hugging_face = "olmoe", .gguf = "olmoe"},
    {.hugging_face = "gemma2",
     .gguf = "gemma2",
     .norm = norm_kind::rms_plus_one,
     .places = norm_places::both,
     .act = activation::gelu_tanh,
     .scales_embeddings = true,
     .names = norms_on_both_sides},
    {.hugging_face = "gemma3_text gemma3",
     .gguf = "gemma3",
     .norm = norm_kind::rms_plus_one,
     .places = norm_places::both,
     .act = activation::gelu_tanh,
     .scales_embeddings = true,
     .names = norms_on_both_sides},
    {.hugging_face = "phi3",
     .gguf = "phi3",
     .joined = joined_heads::in_turn,
     .joins_gate = true,
     .names = {{"ffn_up", "mlp.gate_up_proj"}}},
    {.hugging_face = "olmo2",
     .gguf = "olmo2",
     .places = norm_places::behind,
     .names = norms_on_both_sides},
    {.hugging_face = "cohere2",
     .gguf = "cohere2",
     .norm = norm_kind::layer,
     .order = block_order::parallel_with_one_norm},
    {.hugging_face = "stablelm", .gguf = "stablelm", .norm = norm_kind::layer},
    {.hugging_face = "gpt_neox",
     .gguf = "gptneox",
     .norm = norm_kind::layer,
     .order = block_order::parallel,
     .act = activation::gelu,
     .is_gated = false,
     .joined = joined_heads::by_head,
     .layer_prefix = "gpt_neox.layers.",
     .names = gpt_neox_names},
    {.hugging_face = "gpt2",
     .gguf = "gpt2",
     .norm = norm_kind::layer,
     .act = activation::gelu_tanh,
     .is_gated = false,
     .joined = joined_heads::in_turn,
     .is_transposed = true,
     .layer_prefix = "transformer.h.",
     .names = {{"token_embd", "transformer.wte"},
               {"position_embd", "transformer.wpe"},
               {"output_norm", "transformer.ln_f"},
               {"attn_norm", "ln_1"},
               {"attn_qkv", "attn.c_attn"},
               {"attn_output", "attn.c_proj"},
               {"ffn_norm", "ln_2"},
               {"ffn_up", "mlp.c_fc"},
               {"ffn_down", "mlp.c_proj"}}},
    {.hugging_face = "opt",
     .gguf = "",
     .norm = norm_kind::layer,
     .act = activation::relu,
     .is_gated = false,
     .first_position = 2,
     .layer_prefix = "model.decoder.layers.",
     .names = {{"token_embd", "model.decoder.embed_tokens"},
               {"position_embd", "model.decoder.embed_positions"},
               {"output_norm", "model.decoder.final_layer_norm"},
               {"attn_norm", "self_attn_layer_norm"},
               {"attn_output", "self_attn.out_proj"},
               {"ffn_norm", "final_layer_norm"},
               {"ffn_up", "fc1"},
               {"ffn_down", "fc2"}}},
    {.hugging_face = "bloom",
     .gguf = "bloom",
     .norm = norm_kind::layer,
     .act = activation::gelu_tanh,
     .is_gated = false,
     .joined = joined_heads::by_head,
     .layer_prefix = "transformer.h.",
     .names = {{"token_embd", "transformer.word_embeddings"},
               {"token_embd_norm", "transformer.word_embeddings_layernorm"},
               {"output_norm", "transformer.ln_f"},
               {"attn_qkv", "self_attention.query_key_value"},
               {"attn_output", "self_attention.dense"},
               {"ffn_up", "mlp.dense_h_to_4h"},
               {"ffn_down", "mlp.dense_4h_to_h"}}},
    {.hugging_face = "mpt",
     .gguf = "mpt",
     .norm = norm_kind::layer,
     .act = activation::gelu,
     .is_gated = false,
     .joined = joined_heads::in_turn,
     .layer_prefix = "transformer.blocks.",
     .names = {{"token_embd", "transformer.wte"},
               {"output_norm", "transformer.norm_f"},
               {"attn_norm", "norm_1"},
               {"attn_qkv", "attn.Wqkv"},
               {"attn_output", "attn.out_proj"},
               {"ffn_norm", "norm_2"},
               {"ffn_up", "ffn.up_proj"},
               {"ffn_down", "ffn.down_proj"}}},
    {.hugging_face = "deepseek_v2", .gguf = "deepseek2", .is_latent = true,
     .names = {{"attn_q_a", "self_attn.q_a_proj"},
               {"attn_q_a_norm", "self_attn.q_a_layernorm"},
               {"attn_q_b", "self_attn.q_b_proj"},
               {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
               {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
               {"attn_kv_b", "self_attn.kv_b_proj"},
               {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
               {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
               {"ffn_down_shexp", "mlp.shared_experts.down_proj"}}},
};

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> result;
  while (!list.empty()) {
    auto const end = std::min(list.find(' '), list.size());
    result.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return result;
}

}  // namespace

family const* family_of(std::string_view type, bool is_gguf) {
  for (auto const& one : families) {
    auto const types = words_of(is_gguf ? one.gguf : one.hugging_face);
    if (std::ranges::find(types, type) != types.end()) return &one;
  }
  return nullptr;
}

std::string known_types(bool is_gguf) {
  std::vector<std::string> all;
  for (auto const& one : families)
    for (auto& type : words_of(is_gguf ? one.gguf : one.hugging_face)) all.push_back(type);
  std::ranges::sort(all);
  std::string text;
  for (auto const& type : all) text += (text.empty() ? "" : ", ") + type;
  return text;
}

std::string hugging_face_name(family const& of, std::string_view gguf_name) {
  auto const in = [&](auto const& list) {
    auto const found = std::ranges::find(list, gguf_name, &tensor_name::first);
    return found == std::end(list) ? std::string() : std::string(found->second);
  };
  auto const own = in(of.names);
  return own.empty() ? in(llama_names) : own;
}

}  // namespace run
