// What a record about an architecture of llama.cpp can say: which keys llama.cpp reads for it, and
// what its code does and a GGUF file may leave out.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/settings.hpp"

namespace posenc::inline POSENC_TARGET::detail {

// clang-format off
/// Groups of the keys and tensors that llama.cpp reads for some architectures only, as bits.
struct gguf_group {
  enum bits : unsigned {
    yarn_betas = 1u << 0, yarn_ext_factor = 1u << 1, yarn_log_multiplier = 1u << 2,
    finetuned = 1u << 3, base_alpha = 1u << 4, sections = 1u << 5, local_base = 1u << 6,
    window = 1u << 7, pattern = 1u << 8, interval = 1u << 9, scale = 1u << 10,
    output_scale = 1u << 11, cap = 1u << 12, temperature = 1u << 13, temperature_length = 1u << 14,
    max_bias = 1u << 15, bucket_count = 1u << 16, loops = 1u << 17, compression = 1u << 18,
    index = 1u << 19, index_blocks = 1u << 20, latent_length = 1u << 21,
    pattern_list = 1u << 22,    ///< that key may be a list; others ignore one
    pair_factors = 1u << 23,    ///< the tensor rope_freqs
    length_factors = 1u << 24,  ///< the tensors rope_factors_short and rope_factors_long
    sink_tensors = 1u << 25     ///< attn_sinks of each layer
  };
  /// Converters write these for every model that has them. They have no effect for an architecture
  /// that does not read them.
  static constexpr unsigned written_for_all =
      yarn_betas | yarn_ext_factor | yarn_log_multiplier | finetuned;
  /// What is read of an unknown architecture: keys whose meaning is plain.
  static constexpr unsigned plain = sections | local_base | window | pattern | interval | scale |
                                    cap | temperature | temperature_length | max_bias |
                                    latent_length;
};

/// Keys, with spaces between, and the group that reads them; 0: all architectures.
struct gguf_key {
  std::string_view names;
  unsigned group = 0;
};

/// From the calls of get_key in each load_arch_hparams of llama.cpp @ 1425386f; num_loops from
/// #25994, blocks of keys from #24523.
inline constexpr gguf_key gguf_keys[]{
    {"rope.dimension_count rope.dimension_count_swa rope.freq_base rope.scale_linear"
     " rope.scaling.type rope.scaling.factor rope.scaling.attn_factor attention.shared_kv_layers"
     " rope.scaling.original_context_length attention.key_length_swa attention.causal"},
    {"rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow", gguf_group::yarn_betas},
    {"rope.scaling.yarn_ext_factor rope.scaling.yarn_attn_factor", gguf_group::yarn_ext_factor},
    {"rope.scaling.yarn_log_multiplier", gguf_group::yarn_log_multiplier},
    {"rope.scaling.finetuned", gguf_group::finetuned},
    {"rope.scaling.alpha", gguf_group::base_alpha},
    {"attention.key_length_mla", gguf_group::latent_length},
    {"rope.dimension_sections", gguf_group::sections},
    {"rope.freq_base_swa", gguf_group::local_base},
    {"attention.sliding_window", gguf_group::window},
    {"attention.sliding_window_pattern", gguf_group::pattern},
    {"full_attention_interval attention.recurrent_layers", gguf_group::interval},
    {"attention.scale", gguf_group::scale}, {"attention.output_scale", gguf_group::output_scale},
    {"attn_logit_softcapping", gguf_group::cap}, {"num_loops", gguf_group::loops},
    {"attention.temperature_scale", gguf_group::temperature},
    {"attention.temperature_length", gguf_group::temperature_length},
    {"attention.max_alibi_bias", gguf_group::max_bias},
    {"attention.relative_buckets_count", gguf_group::bucket_count},
    {"attention.compress_ratios attention.compress_rope_freq_base", gguf_group::compression},
    {"attention.indexer.head_count attention.indexer.key_length attention.indexer.top_k",
     gguf_group::index},
    {"attention.indexer.block_size attention.indexer.local_blocks", gguf_group::index_blocks}};

/// Keys that sound like position but act on values, logits, experts or residuals.
inline constexpr std::string_view gguf_keys_that_act_elsewhere =
    "attention.value_length_swa attention.value_scale final_logit_softcapping"
    " router_logit_softcapping expert_chunk_feed_forward_length"
    " hyper_connection.sinkhorn_iterations";

/// Parts of the names of keys that act on positions, on the scale of scores or on the mask.
inline constexpr std::string_view gguf_words =
    "rope rotary position alibi yarn ntk nope bucket window swa sliding chunk causal bidirectional"
    " interval recurrent indexer compress softcap temperature sink";
// clang-format on

/// What is known of a key; null for one that is not about positions.
inline gguf_key const* gguf_key_of(std::string_view name) {
  return record_of(gguf_keys, &gguf_key::names, name);
}

/// Whether the name of a key has such a word.
inline bool gguf_key_speaks(std::string_view name) {
  auto const holds = [&](std::string_view word) { return name.find(word) != name.npos; };
  return std::ranges::any_of(words_of(gguf_words), holds) ||
         (name.starts_with("attention.") && holds("scal"));
}

/// llama.cpp's LLAMA_ROPE_TYPE: norm has pairs (2i, 2i + 1), the next (i, i + n/2); mrope has axes
/// in sections, imrope interleaved axes.
enum class gguf_rope_type { none, norm, neox, mrope, imrope };

/// How the heads that choose keys rotate, and which layers have them.
struct gguf_index {
  bool used = false;
  gguf_rope_type rope = gguf_rope_type::neox;
  bool last_dims = false;
  std::size_t pooled = 0;    ///< the layers that pool so many tokens to a key; 0: all
  bool after_dense = false;  ///< not in the first leading_dense_block_count layers
};

/// What is known of some architectures; 0 and false: they do not have this. To add one, add its
/// name to a record that is right for it, or a new record. A key of the file overrides its default.
struct gguf_architecture {  // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::string_view names;   ///< general.architecture, with spaces between
  gguf_rope_type rope;
  unsigned reads = 0;           ///< gguf_group: what llama.cpp reads for it, and not for all
  unsigned without_effect = 0;  ///< gguf_group: keys of its files that have no effect

  // Rotation.
  bool last_dims = false;       ///< the last dims of a head rotate
  bool whole_head = false;      ///< whole heads rotate, whatever rope.dimension_count says
  bool half_on_full = false;    ///< layers that do not slide rotate half of rope.dimension_count
  bool unscaled = false;        ///< no layer takes scaling or factors
  double only_base = 0;         ///< rope.freq_base must be this
  bool shared_factors = false;  ///< narrower layers take the first of the factors of rope_freqs
  double local_base = 0;  ///< rope.freq_base_swa; sliding layers then take no scaling or factors
  bool unscaled_local = false;  ///< sliding layers take no scaling
  double beta_fast = 32;        ///< rope.scaling.yarn_beta_fast
  /// YaRN's magnitude squared multiplies scores; yarn_log_multiplier is a tenth of mscale_all_dim.
  bool mscale_on_scores = false;
  bool mscale_is_all_dim = false;  ///< mscale equals mscale_all_dim, else it is 1

  // Layers.
  /// How many layers, the first ones, write keys where attention.shared_kv_layers is not given; 0:
  /// all. None: that key is not read.
  std::optional<std::size_t> keyed_layers = {};
  std::size_t window = 0;          ///< attention.sliding_window
  std::size_t sliding_layers = 0;  ///< only the model with this many layers slides
  bool all_slide = false;          ///< all layers with attention slide
  bool window_is_off = false;      ///< llama.cpp ignores the window, the model's own code does not
  std::size_t full_every = 0;      ///< every n-th layer sees all keys, the others slide
  bool full_first = false;         ///< counted from the first layer on
  bool needs_pattern = false;      ///< attention.sliding_window_pattern must be given
  bool symmetric_window = false;   ///< half of the window lies before the query, half after it
  std::size_t chunk = 0;  ///< size; all layers but every full_every-th see a chunk, and rotate
  std::size_t attention_every = 0;    ///< full_attention_interval; the other layers are recurrent
  bool rope_on_sliding_only = false;  ///< where some layers slide, the others do not rotate
  bool rope_on_dense = false;         ///< the first leading_dense_block_count layers rotate as well
  std::size_t nope_every = 0;         ///< every n-th layer does not rotate
  std::size_t nope_first_of = 0;      ///< where some layers slide, the first of n does not rotate
  bool compressed = false;            ///< DeepSeek V4's pooled keys, by attention.compress_ratios
  bool all_predict = false;           ///< nextn_predict_layers is the number of all layers
  gguf_index index = {};

  // Positions without RoPE.
  bool alibi = false;            ///< attention.max_alibi_bias is 8
  std::size_t alibi_layers = 0;  ///< the model with this many layers has ALiBi instead of RoPE
  bool learned = false;          ///< learned embeddings, or ALiBi where its max_alibi_bias is given
  bool buckets = false;          ///< T5

  // Scores.
  std::string_view scale_key = "attention.scale";
  double attention_scale = 0;  ///< default of that key; 0: 1 / sqrt(head_dim)
  /// The model with this many layers has 1 / sqrt(embedding_length / head_count) instead.
  std::size_t embedding_scale_layers = 0;
  bool scale_by_dim = false;      ///< 1 / head_dim
  double score_cap = 0;           ///< attn_logit_softcapping
  bool sinks = false;             ///< layers have sinks; if the file lists tensors, these tell it
  bool nope_temperature = false;  ///< layers without RoPE have Llama 4's temperature

  std::string_view refused = {};  ///< a key that makes another model of it, which is not read
  std::string_view note = {};     ///< a sentence for users
};

}  // namespace posenc::detail
