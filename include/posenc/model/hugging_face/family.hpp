// What a family of models does by default: what its code in transformers has and a config.json may
// leave out.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// How a family encodes positions.
enum class position_rule {
  rope,
  alibi,
  alibi_if_flagged,       ///< where the key alibi is true, else RoPE
  alibi_without_context,  ///< where max_position_embeddings is absent, else RoPE
  alibi_or_learned,       ///< ALiBi where attn_config has alibi, else learned embeddings
  buckets,                ///< T5
  learned,                ///< embeddings
  learned_absolute        ///< embeddings; any position_embedding_type but absolute is an error
};

/// Which layers slide, where layer_types does not say and sliding_window is given.
enum class sliding_rule { none, every_layer, by_pattern, from_max_window_layers };

/// What divides scores before the softmax.
enum class score_scale {
  head_dim,               ///< sqrt(head_dim)
  query_pre_attn_scalar,  ///< its square root
  attention_multiplier,   ///< multiplies them instead
  none
};

/// A record a family; 0, false and empty mean that it has none of this. For a new family, add a
/// record. A key in the file goes before its default here.
struct model_family {  // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::array<std::string_view, 6> types;  ///< values of model_type
  position_rule positions = position_rule::rope;
  std::string_view alibi_note = {};  ///< a sentence for users of its ALiBi

  // Sizes.
  std::size_t head_dim = 0;         ///< 0: hidden_size / num_attention_heads
  std::size_t global_head_dim = 0;  ///< head_dim of layers with full attention
  std::size_t context = 0;          ///< max_position_embeddings

  // Rotation.
  bool interleaved = false;    ///< pairs (2i, 2i + 1), else halves (i, i + n/2)
  double base = 1e4;           ///< rope_theta
  double local_base = 0;       ///< rope_local_base_freq; sliding layers then take no scaling
  bool base_is_ratio = false;  ///< rope_theta is 10000 * rope_ratio
  double partial = 1;          ///< partial_rotary_factor
  std::size_t rotary_dim = 0;  ///< goes before partial
  bool last_dims = false;      ///< the last qk_rope_head_dim dims of a head rotate
  bool two_axes = false;       ///< each half of a head rotates by one coordinate of an image patch
  bool needs_rope = false;     ///< rope_parameters or rope_scaling must be given
  bool has_axes = false;       ///< M-RoPE
  bool interleaved_axes = false;             ///< as interleaved_axes() has them
  std::array<std::size_t, 3> sections = {};  ///< mrope_section; 0: must be given

  // Layers.
  sliding_rule sliding = sliding_rule::none;
  std::size_t window = 0;              ///< sliding_window, where the key is absent rather than null
  std::size_t max_window_layers = 0;   ///< for sliding_rule::from_max_window_layers
  std::size_t full_every = 1;          ///< every n-th layer has full attention, the others slide
  bool linear_others = false;          ///< or the others have linear attention
  bool first_full = false;             ///< the first layer has full attention, too
  bool last_full = false;              ///< the last layer has full attention, too
  std::size_t nope_every = 0;          ///< every n-th layer does not rotate
  bool rope_on_sliding_only = false;   ///< where some layers slide, the others do not rotate
  bool chunked_where_rotated = false;  ///< layers with RoPE see a chunk, the others all keys
  bool compressed = false;  ///< layers see a window and, unless they slide, compressed keys, whose
                            ///< RoPE has its own keys (DeepSeek-V4)

  // Scores.
  score_scale scale = score_scale::head_dim;
  double score_cap = 0;               ///< attn_logit_softcapping
  bool sinks = false;                 ///< a learned logit for each head
  bool nope_temperature = false;      ///< layers without RoPE have Llama 4's temperature
  bool mscale_on_scores = false;      ///< YaRN's g(mscale_all_dim)^2 multiplies scores
  std::string_view mscale_note = {};  ///< a sentence for users where that factor is not 1

  /// Keys that by their names act on positions, scores or the mask, and in this family do not.
  std::array<std::string_view, 6> without_effect = {};
};

}  // namespace detail
}  // namespace posenc
