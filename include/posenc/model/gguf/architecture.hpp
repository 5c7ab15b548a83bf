// What a record about an architecture of llama.cpp can say: what its code does and a GGUF file may
// leave out.
#pragma once

#include <cstddef>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/keys.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// llama.cpp's LLAMA_ROPE_TYPE_NONE, _NORM, _NEOX, _MROPE and _IMROPE.
enum class gguf_rope_type {
  none,
  norm,   ///< pairs (2i, 2i + 1)
  neox,   ///< pairs (i, i + n/2)
  mrope,  ///< as neox, by several axes in sections
  imrope  ///< as neox, by several interleaved axes
};

/// How the heads that choose keys rotate, and which layers have them.
struct gguf_index {
  bool used = false;
  gguf_rope_type rope = gguf_rope_type::neox;
  bool last_dims = false;
  std::size_t pooled = 0;    ///< the layers that pool so many tokens to a key; 0: all
  bool after_dense = false;  ///< not in the first leading_dense_block_count layers
};

/// What is known of one architecture. 0 and false mean that it does not have this. To add an
/// architecture, add a record. A key of the file overrides its default here.
struct gguf_architecture {  // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::string_view name;
  gguf_rope_type rope;
  unsigned reads = 0;           ///< gguf_group: what llama.cpp reads for it, and not for all
  unsigned without_effect = 0;  ///< gguf_group: keys of its files that have no effect

  // Rotation.
  bool last_dims = false;     ///< the last dims of a head rotate
  bool whole_head = false;    ///< whole heads rotate, whatever rope.dimension_count says
  bool half_on_full = false;  ///< layers that do not slide rotate half of rope.dimension_count
  bool unscaled = false;      ///< no layer takes scaling or factors
  double only_base = 0;       ///< rope.freq_base must be this
  bool shared_factors =
      false;              ///< rope_freqs has factors for the widest layers, others take the first
  double local_base = 0;  ///< rope.freq_base_swa; sliding layers then take no scaling or factors
  bool unscaled_local = false;     ///< sliding layers take no scaling
  double beta_fast = 32;           ///< rope.scaling.yarn_beta_fast
  bool mscale_on_scores = false;   ///< YaRN's magnitude squared multiplies scores, as in DeepSeek's
                                   ///< code; yarn_log_multiplier is a tenth of mscale_all_dim
  bool mscale_is_all_dim = false;  ///< mscale equals mscale_all_dim, else it is 1

  // Layers.
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
  double attention_scale = 0;              ///< default of that key; 0: 1 / sqrt(head_dim)
  std::size_t embedding_scale_layers = 0;  ///< the model with this many layers has 1 / sqrt(
                                           ///< embedding_length / head_count) instead
  bool scale_by_dim = false;               ///< 1 / head_dim
  double score_cap = 0;                    ///< attn_logit_softcapping
  bool sinks = false;             ///< layers have sinks; if the file lists tensors, these tell it
  bool nope_temperature = false;  ///< layers without RoPE have Llama 4's temperature

  std::string_view refused = {};  ///< a key that makes another model of it, which is not read
  std::string_view note = {};     ///< a sentence for users
};

}  // namespace detail
}  // namespace posenc
