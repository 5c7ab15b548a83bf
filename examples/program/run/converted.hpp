// A small model of Hugging Face as a GGUF file, the way llama.cpp's converter writes it: names of
// tensors and keys, the order of rows, norms of Gemma with 1 added, experts in one tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/gguf/writer.hpp"
#include "program/run/small_model.hpp"

namespace small_model {

/// The names of GGUF behind blk.N, or outside the layers, by those of all families.
inline constexpr std::pair<std::string_view, std::string_view> gguf_names[]{
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"gpt_neox.embed_in", "token_embd"},
    {"gpt_neox.final_layer_norm", "output_norm"},
    {"embed_out", "output"},
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.ln_f", "output_norm"},
    {"transformer.norm_f", "output_norm"},
    {"transformer.word_embeddings", "token_embd"},
    {"transformer.word_embeddings_layernorm", "token_embd_norm"},
    {"input_layernorm", "attn_norm"},
    {"ln_1", "attn_norm"},
    {"norm_1", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"attention.query_key_value", "attn_qkv"},
    {"self_attention.query_key_value", "attn_qkv"},
    {"attn.c_attn", "attn_qkv"},
    {"attn.Wqkv", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"attention.dense", "attn_output"},
    {"self_attention.dense", "attn_output"},
    {"attn.c_proj", "attn_output"},
    {"attn.out_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.q_a_proj", "attn_q_a"},
    {"self_attn.q_a_layernorm", "attn_q_a_norm"},
    {"self_attn.q_b_proj", "attn_q_b"},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    {"self_attn.kv_b_proj", "attn_kv_b"},
    {"post_attention_layernorm", "ffn_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"ln_2", "ffn_norm"},
    {"norm_2", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.dense_h_to_4h", "ffn_up"},
    {"mlp.dense_4h_to_h", "ffn_down"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
    {"ffn.up_proj", "ffn_up"},
    {"ffn.down_proj", "ffn_down"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.experts.gate_proj", "ffn_gate_exps"},
    {"mlp.experts.up_proj", "ffn_up_exps"},
    {"mlp.experts.down_proj", "ffn_down_exps"},
    {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
};

/// What the converter does to a type, and the keys that are the type's own: those of config.json,
/// with their names in GGUF.
struct conversion {
  std::string_view type, architecture;
  std::vector<std::pair<std::string, std::string>> keys = {};
  bool permutes = false;       ///< rows of queries and keys, from halves to interleaved
  bool joins_by_head = false;  ///< in config.json's model; GGUF has queries, keys, values in turn
  bool transposes = false;
  bool adds_one = false;            ///< to the weights of norms
  bool norms_behind = false;        ///< post_attention_layernorm is no norm of the network
  bool scales_by_head_dim = false;  ///< llama.cpp does, whatever query_pre_attn_scalar says
};

inline std::vector<conversion> const conversions{
    {.type = "llama", .architecture = "llama", .permutes = true},
    {.type = "qwen2", .architecture = "qwen2"},
    {.type = "qwen3", .architecture = "qwen3"},
    {.type = "smollm3", .architecture = "smollm3", .permutes = true},
    {.type = "granite",
     .architecture = "granite",
     .keys = {{"attention_multiplier", "attention.scale"},
              {"embedding_multiplier", "embedding_scale"},
              {"residual_multiplier", "residual_scale"},
              {"logits_scaling", "logit_scale"}},
     .permutes = true},
    {.type = "gemma2",
     .architecture = "gemma2",
     .keys = {{"attn_logit_softcapping", "attn_logit_softcapping"},
              {"final_logit_softcapping", "final_logit_softcapping"}},
     .adds_one = true,
     .norms_behind = true,
     .scales_by_head_dim = true},
    {.type = "gemma3_text",
     .architecture = "gemma3",
     .adds_one = true,
     .norms_behind = true,
     .scales_by_head_dim = true},
    {.type = "phi3", .architecture = "phi3"},
    {.type = "olmo2", .architecture = "olmo2", .norms_behind = true},
    {.type = "cohere2", .architecture = "cohere2", .keys = {{"logit_scale", "logit_scale"}}},
    {.type = "stablelm", .architecture = "stablelm"},
    {.type = "gpt_neox", .architecture = "gptneox", .joins_by_head = true},
    {.type = "gpt2", .architecture = "gpt2", .transposes = true},
    {.type = "bloom", .architecture = "bloom", .joins_by_head = true},
    {.type = "mpt",
     .architecture = "mpt",
     .keys = {{"alibi_bias_max", "attention.max_alibi_bias"}}},
    {.type = "qwen3_moe", .architecture = "qwen3moe"},
    {.type = "olmoe", .architecture = "olmoe"},
    {.type = "deepseek_v2",
     .architecture = "deepseek2",
     .keys = {{"routed_scaling_factor", "expert_weights_scale"}}},
};

/// The text behind a key of config.json, of whatever object.
inline std::optional<std::string> value_of(std::string const& config, std::string const& key) {
  auto const name = "\"" + key + "\": ";
  auto const at = config.find(name);
  if (at == config.npos) return {};
  auto const begin = at + name.size();
  return config.substr(begin, config.find_first_of(",}", begin) - begin);
}
/// The number of the first of these keys that is there.
inline std::optional<double> number_of(std::string const& config,
                                       std::vector<std::string> const& keys) {
  for (auto const& key : keys)
    if (auto const text = value_of(config, key); text && *text != "null") return std::stod(*text);
  return {};
}

class converter {
 public:
  /// `splits_latent`: kv_b as two tensors, of keys and of values, as since April 2025.
  converter(conversion const& by, std::string const& config, bool splits_latent)
      : by_(by), config_(config), splits_latent_(splits_latent) {}

  std::string file(std::vector<stored_tensor> const& tensors) {
    write_keys();
    std::map<std::string, stored_tensor> experts;
    for (auto const& t : tensors) {
      auto const expert = t.name.find(".experts.");
      if (expert == t.name.npos) {
        add(converted(t));
        continue;
      }
      // mlp.experts.E.up_proj is a part of mlp.experts.up_proj; experts come in their order.
      auto one = t;
      auto const first = expert + std::string_view(".experts").size();
      one.name.erase(first, one.name.find('.', first + 1) - first);
      auto& all = experts.try_emplace(one.name, stored_tensor{one.name, {0}, {}}).first->second;
      all.shape = {all.shape[0] + 1, one.shape[0], one.shape[1]};
      all.numbers.insert(all.numbers.end(), one.numbers.begin(), one.numbers.end());
    }
    for (auto const& [name, t] : experts) add(converted(t));
    return out_.str();
  }

 private:
  std::size_t count(std::vector<std::string> const& keys) const {
    return static_cast<std::size_t>(number_of(config_, keys).value());
  }
  std::size_t heads() const { return count({"num_attention_heads", "n_head", "n_heads"}); }
  std::size_t key_heads() const {
    return count({"num_key_value_heads", "num_attention_heads", "n_head", "n_heads"});
  }
  std::size_t width() const { return count({"hidden_size", "n_embd", "d_model"}); }
  std::size_t head_dim() const {
    return number_of(config_, {"head_dim"}) ? count({"head_dim"}) : width() / heads();
  }
  bool is_latent() const { return number_of(config_, {"kv_lora_rank"}).has_value(); }

  template <class T>
  void set(std::string const& key, T value) {
    out_.set(std::string(by_.architecture) + "." + key, value);
  }
  void set_count(std::string const& key, std::vector<std::string> const& names) {
    if (auto const number = number_of(config_, names))
      set(key, static_cast<std::uint32_t>(*number));
  }
  void set_number(std::string const& key, std::vector<std::string> const& names) {
    if (auto const number = number_of(config_, names)) set(key, static_cast<float>(*number));
  }

  void write_keys() {
    out_.set("general.architecture", std::string(by_.architecture));
    set_count("block_count", {"num_hidden_layers", "n_layer", "n_layers"});
    set_count("context_length", {"max_position_embeddings", "n_positions", "max_seq_len"});
    set("embedding_length", static_cast<std::uint32_t>(width()));
    set_count("feed_forward_length", {"intermediate_size", "n_inner"});
    set("attention.head_count", static_cast<std::uint32_t>(heads()));
    set_number("attention.layer_norm_rms_epsilon", {"rms_norm_eps"});
    set_number("attention.layer_norm_epsilon", {"layer_norm_eps", "layer_norm_epsilon"});
    set_number("rope.freq_base", {"rope_theta"});
    set_count("attention.sliding_window", {"sliding_window"});
    set_count("expert_count", {"n_routed_experts", "num_local_experts", "num_experts"});
    set_count("expert_used_count", {"num_experts_per_tok"});
    for (auto const& [key, name] : by_.keys) set_number(name, {key});
    if (auto const parallel = value_of(config_, "use_parallel_residual"))
      set("use_parallel_residual", *parallel == "true");
    if (is_latent()) return write_latent_keys();
    if (!by_.joins_by_head)  // else as many as of queries
      set("attention.head_count_kv", static_cast<std::uint32_t>(key_heads()));
    if (number_of(config_, {"head_dim"}))
      for (auto const* const key : {"attention.key_length", "attention.value_length"})
        set(key, static_cast<std::uint32_t>(head_dim()));
    auto const part = number_of(config_, {"partial_rotary_factor"}).value_or(1);
    if (number_of(config_, {"rope_theta"}))
      set("rope.dimension_count",
          static_cast<std::uint32_t>(part * static_cast<double>(head_dim())));
  }
  void write_latent_keys() {
    auto const rotated = count({"qk_rope_head_dim"}), latent = count({"kv_lora_rank"}),
               keys = rotated + count({"qk_nope_head_dim"}), values = count({"v_head_dim"});
    auto const set_all = [&](std::string const& ending, std::size_t of_keys,
                             std::size_t of_values) {
      set("attention.key_length" + ending, static_cast<std::uint32_t>(of_keys));
      set("attention.value_length" + ending, static_cast<std::uint32_t>(of_values));
    };
    set("attention.head_count_kv", static_cast<std::uint32_t>(splits_latent_ ? 1 : heads()));
    if (splits_latent_) {
      set_all("", latent + rotated, latent), set_all("_mla", keys, values);
    } else {
      set_all("", keys, values);
    }
    set_count("attention.q_lora_rank", {"q_lora_rank"});
    set_count("attention.kv_lora_rank", {"kv_lora_rank"});
    set_count("leading_dense_block_count", {"first_k_dense_replace"});
    set_count("expert_shared_count", {"n_shared_experts"});
    set("rope.dimension_count", static_cast<std::uint32_t>(rotated));
  }

  // model.layers.3.mlp.up_proj.weight is blk.3.ffn_up.weight.
  std::string name_of(std::string const& name) const {
    auto const end = name.rfind('.');
    auto inner = name.substr(0, end), prefix = std::string();
    auto const digit = inner.find_first_of("0123456789");
    if (digit != inner.npos && inner[digit - 1] == '.') {
      auto const dot = inner.find('.', digit);
      prefix = "blk." + inner.substr(digit, dot - digit) + ".";
      inner = inner.substr(dot + 1);
    }
    if (by_.norms_behind && inner == "post_attention_layernorm")
      return prefix + "post_attention_norm" + name.substr(end);
    auto const found =
        std::ranges::find(gguf_names, inner, &std::pair<std::string_view, std::string_view>::first);
    if (found == std::end(gguf_names))
      throw std::runtime_error("no name in GGUF is known for " + name);
    return prefix + std::string(found->second) + name.substr(end);
  }

  // Rows, or numbers of a bias, in another order.
  template <class From>
  static void reorder(stored_tensor& t, From const& from) {
    auto const rows = t.shape.front(), columns = t.numbers.size() / rows;
    auto const before = t.numbers;
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(from(row) * columns), columns,
                  t.numbers.begin() + static_cast<std::ptrdiff_t>(row * columns));
  }

  stored_tensor converted(stored_tensor t) const {
    t.name = name_of(t.name);
    auto const is = [&](char const* part) { return t.name.find(part) != std::string::npos; };
    auto const d = head_dim();
    if (by_.permutes && (is("attn_q.") || is("attn_k.")))
      reorder(t, [d](std::size_t row) { return row / d * d + row % 2 * (d / 2) + row % d / 2; });
    if (by_.joins_by_head && is("attn_qkv."))
      reorder(t, [d, all = heads() * d](std::size_t row) {
        auto const of = row / all, head = row % all / d;
        return (3 * head + of) * d + row % d;
      });
    if (by_.transposes && t.shape.size() == 2 && is("blk.")) {
      auto const before = t.numbers;
      std::swap(t.shape[0], t.shape[1]);
      for (std::size_t i = 0; i < before.size(); ++i)
        t.numbers[i % t.shape[0] * t.shape[1] + i / t.shape[0]] = before[i];
    }
    if (by_.adds_one && is("norm."))
      for (auto& x : t.numbers) x += 1;
    // Scores are of queries, so another scale is one of theirs: by their norm, if there is one.
    bool const has_norm = by_.type == "gemma3_text";
    if (by_.scales_by_head_dim && is(has_norm ? "attn_q_norm." : "attn_q."))
      for (auto& x : t.numbers)
        x *= static_cast<float>(std::sqrt(static_cast<double>(d) /
                                          number_of(config_, {"query_pre_attn_scalar"}).value()));
    return t;
  }

  void add(stored_tensor const& t) {
    if (splits_latent_ && t.name.find("attn_kv_b.") != t.name.npos) return add_split(t);
    gguf_text data;
    for (auto const x : t.numbers) data.number(x);
    out_.tensor(t.name, {t.shape.rbegin(), t.shape.rend()}, 0, data.str());
  }
  // [heads][keys, then values][latent] as keys [heads][latent][keys] and values
  // [heads][values][latent].
  void add_split(stored_tensor const& t) {
    auto const n = heads(), keys = count({"qk_nope_head_dim"}), values = count({"v_head_dim"}),
               latent = t.shape[1];
    auto const prefix = t.name.substr(0, t.name.find("attn_"));
    stored_tensor k{prefix + "attn_k_b.weight", {n, latent, keys}, {}},
        v{prefix + "attn_v_b.weight", {n, values, latent}, {}};
    auto const number = [&](std::size_t head, std::size_t row, std::size_t i) {
      return t.numbers[(head * (keys + values) + row) * latent + i];
    };
    for (std::size_t head = 0; head < n; ++head) {
      for (std::size_t i = 0; i < latent; ++i)
        for (std::size_t row = 0; row < keys; ++row) k.numbers.push_back(number(head, row, i));
      for (std::size_t row = 0; row < values; ++row)
        for (std::size_t i = 0; i < latent; ++i) v.numbers.push_back(number(head, keys + row, i));
    }
    add(k), add(v);
  }

  conversion const& by_;
  std::string const& config_;
  bool splits_latent_;
  gguf_writer out_;
};

}  // namespace small_model
