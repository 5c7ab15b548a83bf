// Reads what a model does about position from Hugging Face's config.json. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/rotation.hpp"
#include "posenc/model/hugging_face/schedule.hpp"
#include "posenc/model/model_encoding.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

inline void read_llama4_temperature(hugging_face_config& config, layer_encoding& kind) {
  if (!config.keys.truth("attn_temperature_tuning").value_or(true)) return;
  auto const given_or = [&](std::string const& key, double value) {
    auto const given = config.keys.number(key);
    if (given) config.keys.require(*given > 0, key, "be positive");
    return given ? *given : config.assumed(key, value);
  };
  kind.temperature = position_temperature{given_or("attn_scale", 0.1), given_or("floor_scale", 8192), 1};
}

/// Models that scale scores by something else than 1 / sqrt(head_dim).
inline double softmax_factor(hugging_face_config& config, std::size_t head_dim) {
  auto const root = std::sqrt(static_cast<double>(head_dim));
  auto const positive = [&](char const* key) {
    auto const given = config.keys.number(key);
    if (given) config.keys.require(*given > 0, key, "be positive");
    return given;
  };
  if (config.is("gemma2", "gemma3", "gemma3_text")) {
    auto const scalar = positive("query_pre_attn_scalar");
    return root / std::sqrt(scalar ? *scalar : config.assumed("query_pre_attn_scalar", 256.0));
  }
  if (config.is("granite", "granitemoe")) {
    auto const multiplier = positive("attention_multiplier");
    return root * (multiplier ? *multiplier : config.assumed("attention_multiplier", 1.0));
  }
  if (config.is("gemma4", "gemma4_text", "gemma4_vision", "t5", "mt5", "umt5", "gpt_neo")) {
    return root;
  }
  return 1;
}

inline void read_kind(hugging_face_config& config, layer_encoding& kind, scheduled_layer const& layer) {
  auto const& keys = config.keys;
  auto const& type = layer.type;
  if (!layer.attends) return config.note(type + " layers have no attention: no encoding acts there.");
  auto const nope_dim = keys.count("qk_nope_head_dim", most_dims), rope_dim = keys.count("qk_rope_head_dim", most_dims);
  if (nope_dim && !rope_dim) keys.refuse("qk_rope_head_dim", "be given where qk_nope_head_dim is");
  if (rope_dim && !config.is_known) keys.refuse("qk_rope_head_dim", "stand in a known model_type, for scores may be scaled by mscale");
  kind.head_dim = nope_dim ? *nope_dim + *rope_dim : config.head_dim();
  if (type == "full_attention" && config.is("gemma4", "gemma4_text")) {
    auto const global = keys.count("global_head_dim", most_dims);
    kind.head_dim = global ? *global : config.assumed("global_head_dim", std::size_t{512});
  }
  kind.softmax_factor = softmax_factor(config, kind.head_dim);
  if (type == sliding_attention || config.is("deepseek_v4")) {
    kind.window = config.window();
    if (!kind.window) keys.refuse("sliding_window", "be given for layers of " + type);
  }
  if (type == chunked_attention) {
    auto const chunk = keys.count("attention_chunk_size", most_tokens);
    kind.chunk = chunk ? *chunk : config.assumed("attention_chunk_size", std::size_t{8192});
  }
  kind.score_cap = keys.number("attn_logit_softcapping");
  bool const is_absent = !kind.score_cap && !keys.is_null("attn_logit_softcapping");
  if (is_absent && config.family.score_cap != 0) kind.score_cap = config.assumed("attn_logit_softcapping", config.family.score_cap);
  if (kind.score_cap) keys.require(*kind.score_cap > 0, "attn_logit_softcapping", "be positive");
  auto const sinks = keys.flag(type == sliding_attention ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias");
  kind.sinks = sinks.value_or(config.family.sinks);
  if (layer.rotates) hugging_face_rotation(config, type, kind).read();
  require(is_finite(kind.softmax_factor), keys.where(), ": the factor on scores must be finite, got ", kind.softmax_factor);
  if (!layer.rotates && config.is("llama4_text")) read_llama4_temperature(config, kind);
}

inline void read_kinds(hugging_face_config& config) {
  auto types = layer_types(config);
  auto const rotated = rotated_layers(config, types);
  if (config.is("llama4_text") && !config.keys.has("layer_types")) {
    for (std::size_t i = 0; i < types.size(); ++i) types[i] = rotated[i] ? chunked_attention : full_attention;
    config.assumed("layer_types", std::string("chunked_attention where there is RoPE, full_attention elsewhere"));
  }
  std::vector<scheduled_layer> layers;
  for (std::size_t i = 0; i < types.size(); ++i) {
    layers.push_back({.type = types[i], .attends = has_attention(types[i]), .rotates = rotated[i]});
  }
  config.found.kinds = kinds_of(layers, [&](layer_encoding& kind, scheduled_layer const& layer) {
    read_kind(config, kind, layer);
  });
}

/// ALiBi, T5, and embeddings that are learned: whether the model is of those.
inline bool reads_other_than_rope(hugging_face_config& config) {
  auto const& keys = config.keys;
  auto const add_kind = [&]() -> layer_encoding& {
    auto& kind = config.add_kind_of_all_layers();
    kind.softmax_factor = softmax_factor(config, kind.head_dim);
    return kind;
  };
  auto const alibi = [&](double max_bias) {
    add_kind().alibi = alibi_bias{config.heads(), max_bias};
    return true;
  };
  auto const learned = [&] {
    add_kind();
    config.found.embedding = "learned";
    return true;
  };
  if (config.is("bloom")) return alibi(8);
  if (config.is("falcon") && keys.flag("alibi").value_or(false)) {
    config.note("Falcon rounds the bias to bfloat16, and scales it by 1 / sqrt(head_dim) along with the scores.");
    return alibi(8);
  }
  if (config.is("mpt")) {
    auto const attention = keys.object("attn_config");
    if (attention && attention->flag("rope").value_or(false)) attention->refuse("rope", "be false: MPT's RoPE is not read");
    if (!attention || !attention->flag("alibi").value_or(false)) return learned();
    auto const max_bias = attention->number("alibi_bias_max");
    if (max_bias) attention->require(*max_bias > 0, "alibi_bias_max", "be positive");
    return alibi(max_bias ? *max_bias : config.assumed("alibi_bias_max", 8.0));
  }
  if (config.is("baichuan") && !keys.has("max_position_embeddings")) {
    config.found.context = keys.count("model_max_length", most_tokens);
    config.assume("max_position_embeddings is not given: ALiBi, as Baichuan's models of 13B have it.");
    return alibi(8);
  }
  if (config.is("t5", "mt5", "umt5")) {
    auto const buckets = keys.count("relative_attention_num_buckets", most_dims);
    auto const distance = keys.count("relative_attention_max_distance", most_tokens);
    bucket_bias const bias{buckets ? *buckets : config.assumed("relative_attention_num_buckets", std::size_t{32}),
                           distance ? *distance : config.assumed("relative_attention_max_distance", std::size_t{128})};
    add_kind().buckets = bias;
    return true;
  }
  if (config.is("bert", "roberta", "electra")) {
    auto const type = keys.text("position_embedding_type").value_or("absolute");
    keys.require(type == "absolute", "position_embedding_type", "be absolute: relative keys and queries are not read");
  }
  return config.is("gpt2", "gpt_neo", "gpt_bigcode", "opt", "bert", "roberta", "electra", "distilbert") && learned();
}

}  // namespace detail

/// The text of a config.json; `name` is the file's, for errors. Reads the schema of transformers 5 (rope_parameters, nested by type of
/// layers or not), those before (rope_scaling, rope_theta, rotary_pct, rotary_emb_base, rope_local_base_freq ...), a text_config within,
/// and the keys of GPT-J, GPT-NeoX, MPT, BLOOM and T5. What it does not say is taken as known of the model_type, and listed.
/// Throws std::invalid_argument that names file, key and value: text that is no JSON, types and ranges, an unknown rope_type, keys that
/// contradict each other, lists of the wrong length.
inline model_encoding read_hugging_face(std::string_view text, std::string const& name) {
  auto const json = detail::parsed_json(text, name);
  detail::error_context const context(name);
  detail::hugging_face_config config(detail::json_object(json, name));
  if (config.is("gptj", "codegen")) config.keys.has("rotary");  // always true
  if (detail::reads_other_than_rope(config)) return config.found;
  config.keys.require(!config.keys.truth("alibi").value_or(false), "alibi", "be false for " + config.found.type);
  if (!config.is_known) {
    auto const keys = config.keys.keys();
    bool const tells_of_rope = std::ranges::any_of(keys, [](std::string const& key) {
      return key.find("rope_") != std::string::npos || key.starts_with("rotary_") || key == "partial_rotary_factor";
    });
    config.keys.require(tells_of_rope, "model_type", "be known where no key tells of RoPE");
    config.assume("model_type " + config.found.type + " is not known: pairs are halves, and what is not given is as Llama has it.");
  }
  detail::read_kinds(config);
  config.note_unread(config.unread());
  return config.found;
}

/// The same of a file, of at most 16 MiB.
inline model_encoding read_hugging_face(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  detail::require(in.is_open(), file.string(), ": must be a file that can be read");
  constexpr std::size_t most = std::size_t{16} << 20;
  std::string text(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  detail::require(text.size() <= most, file.string(), ": must be at most 16 MiB long");
  return read_hugging_face(text, file.filename().string());
}

}  // namespace posenc
