// The defaults of a family of models, for keys that a file leaves out.
#pragma once

#include <array>

#include "posenc/core/target.hpp"
#include "posenc/model/detail/layer_schedule.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Ends what a name of a model must be. The tables have the models that were published until then.
inline constexpr std::string_view one_that_is_known =
    "be one that is known (tables of 2026-11), unless unknown_model::as_llama is asked for";

// clang-format off
/// Types of layers: first those with attention.
inline constexpr auto known_layer_types = std::to_array<std::string_view>(
    {full_attention, "attention", sliding_attention, chunked_attention, compressed_sparse_attention,
     heavily_compressed_attention, shared_compressed_attention, "hybrid",
     "deepseek_sparse_attention", "indexed_attention", "hybrid_indexed", "minimax_m3_sparse",
     "qwen_sparse_attention",
     linear_attention, cross_attention, "conv", "mamba", "recurrent", "moe", "mlp"});
// clang-format on

constexpr bool has_attention(std::string_view type) {
  return std::ranges::find(known_layer_types, type) <
         std::ranges::find(known_layer_types, linear_attention);
}

/// How a family encodes positions.
enum class position_rule {
  rope,
  alibi,
  alibi_if_flagged,       ///< ALiBi / sqrt(head_dim) where the key alibi is true, else RoPE
  alibi_without_context,  ///< where max_position_embeddings is absent, else RoPE
  alibi_or_learned,       ///< ALiBi where attn_config has alibi, else learned embeddings
  buckets,                ///< T5
  learned_buckets,        ///< and learned embeddings
  learned,                ///< embeddings
  sinusoidal,             ///< embeddings
  learned_or_rotary,      ///< RoPE if position_embedding_type is rotary
  learned_absolute        ///< embeddings; any position_embedding_type but absolute is an error
};

/// Which layers with attention rotate.
enum class rotation_rule {
  all_layers,
  no_layer,                  ///< and attention_type, where given, names no RoPE
  sliding_layers,            ///< where sliding_window is given, else all
  sliding_and_dense_layers,  ///< sliding ones, and layers that are no mixtures of experts
  if_position_type_is_rope   ///< all where position_embedding_type is rope, else none
};

/// Which of n layers is the one of `full_every`.
enum class full_place { last_of_each, first_of_each, counted_from_the_end, by_offset };

/// The keys that sliding_window counts.
enum class window_rule {
  last_keys,          ///< all keys that a query sees, its own among them
  half_of_key,        ///< twice the keys that a query sees
  half_on_each_side,  ///< the keys on both sides of a query's own, half on each
  each_side,          ///< the keys on each side of a query's own
  half_if_both_sides  ///< half_on_each_side where queries see both sides, else last_keys
};

/// On which sides of its position a query sees keys.
enum class side_rule {
  before,
  both,
  both_unless_decoder,  ///< where is_decoder is not true
  both_by_flag,         ///< where use_bidirectional_attention is true
  both_by_word  ///< where that is all; where it is vision, images see both ways in sliding layers
};

/// The order of the axes of M-RoPE's pairs: ttt...hhh...www, thwthw...tt or hwhw...ttt.
enum class axis_order { contiguous, interleaved, alternating };

/// A number about index heads.
struct index_number_rule {
  std::string_view key = {};     ///< empty: the value stands
  std::size_t value = 0;         ///< where the key is absent; 0: it must be given
  std::string_view within = {};  ///< its key in sparse_attention_config
  std::size_t least = 1;
};

/// Index heads, as in model_description.hpp. If `heads` has no key, there are none.
struct index_rule {
  index_number_rule heads = {}, head_dim = {}, chosen = {}, block = {"", 1}, local_blocks = {},
                    key_stride = {"", 1};
  bool chosen_in_tokens = false;  ///< and not in blocks, which are key_stride tokens
  bool interleaved = false, last_dims = false;
  std::string_view layers = {};  ///< their type; empty: all with attention that do not slide
  std::size_t shared_every = 1;  ///< index_topk_freq: of so many layers one chooses its keys
  bool after_dense = false;      ///< GGUF: not in the first leading_dense_block_count layers
};

inline constexpr index_rule deepseek_index{.heads = {"index_n_heads", 64},
                                           .head_dim = {"index_head_dim", 128},
                                           .chosen = {"index_topk", 2048}};

/// The norms of a family, as far as they are known. Norms on MLA's latent vectors are not listed.
struct norm_rule {
  norm_scope of = norm_scope::head;
  norm_place place = norm_place::before;
  std::string_view query = "q_norm", key = "k_norm";  ///< tensors; empty: without weights
  bool plus_one = false;
  bool values = false;         ///< values have it, too, without weights
  bool where_rotated = false;  ///< only in layers that rotate
  bool keys_alone = false;     ///< queries have none
  std::string_view flag = {};  ///< only where this key is true
  bool by_default = false;     ///< where that key is absent
  bool optional = false;       ///< only in a GGUF file that has the tensors
};

/// Rules that many families share.
struct norm_rules {
  static constexpr auto after = norm_place::after;
  static constexpr norm_rule unknown{norm_scope::unknown}, none{norm_scope::none},
      head{norm_scope::head}, own_weights{norm_scope::own_weights}, token{norm_scope::token},
      centred{norm_scope::centred}, plus_one{.plus_one = true}, with_values{.values = true};
};

/// The facts about a family: a model_type of transformers, or an architecture of llama.cpp. 0,
/// false and empty mean that it does not have this. A key of the file overrides its default here.
/// Keys are named as in config.json.
struct model_family {           // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::string_view types = {};  ///< model_type or general.architecture, with spaces between
  norm_rule norm = {norm_scope::unknown};  ///< of queries, keys and values
  std::string_view keys = {};              ///< that its class reads, of keys_of_some_families
  std::string_view lacks = {};             ///< keys of all others that its class does not read
  std::string_view loses = {};  ///< keys that it does not where rope_parameters are absent
  unsigned reads = 0;           ///< gguf_group: what llama.cpp reads for it, not for all
  position_rule positions = position_rule::rope;
  side_rule sides = side_rule::before;
  both_ways within = both_ways::none;  ///< what sees both ways in a model of more than text
  std::string_view refusal = {};       ///< it is not read: what model_type must be, and why
  std::string_view refused_key = {};   ///< a key that makes another model of it, which is not read
  std::string_view note = {}, alibi_note = {};  ///< a sentence for users; one about its ALiBi

  // Sizes.
  std::size_t head_dim = 0, global_head_dim = 0;  ///< of all, of full attention; 0: not known
  std::size_t global_key_heads = 0;  ///< num_key_value_heads of full attention; 0: as elsewhere
  std::size_t context = 0;           ///< max_position_embeddings
  bool omits_sizes = false;  ///< a text_config may leave out 32 layers, hidden size 4096, 32 heads
  bool is_decoder = false;   ///< of two stacks, decoder_layers and decoder_attention_heads count

  bool all_predict = false;  ///< nextn_predict_layers is the number of all layers

  // Rotation.
  rotation_rule rotation = rotation_rule::all_layers;
  /// A flag: no layer rotates if it is true, and it must be for rotation_rule::no_layer.
  std::string_view nope_key = {};
  bool nope_narrows = false;       ///< and heads are then without their qk_rope_head_dim
  bool interleaved = false;        ///< pairs (2i, 2i + 1), else halves (i, i + n/2)
  bool opposite = false;           ///< all rotate by the opposite angle
  double base = 1e4;               ///< rope_theta
  std::string_view base_key = {};  ///< its key outside rope_parameters; empty: any known one
  double only_base = 0;            ///< rope_theta must be this
  double local_base = 0;           ///< rope_local_base_freq; sliding layers then take no scaling
  /// base and local_base in another version of transformers, if they differ there.
  double other_base = 0, other_local_base = 0;
  bool base_is_ratio = false;         ///< rope_theta is 10000 * rope_ratio
  std::string_view base_object = {};  ///< the object that has rope_theta, if not the file itself
  bool local_scaled = false;          ///< sliding layers have another base and take scaling
  bool scaled_if_full = false;        ///< sliding layers take no scaling
  double partial = 1;                 ///< partial_rotary_factor
  std::size_t rotary_dim = 0;         ///< dims that rotate; takes the place of partial
  bool whole_head = false;            ///< whole heads rotate, whatever the keys say
  bool half_on_full = false;          ///< layers that do not slide rotate half of rotary_dim
  bool last_dims = false;             ///< the last qk_rope_head_dim dims of a head rotate
  bool two_axes = false;  ///< each half of a head rotates by one coordinate of an image patch
  std::string_view two_axes_key = {};  ///< the same for files in which this key is true
  std::size_t axial_axes = 0;          ///< axes, each with a separate series of frequencies
  bool alternates = false;         ///< frequencies alternate between rows and columns of an image
  bool unscaled = false;           ///< rope_type must be default; llama.cpp ignores another
  bool shared_factors = false;     ///< narrower layers take the first factors of rope_freqs
  bool needs_rope = false;         ///< rope_parameters or rope_scaling must be given
  bool needs_nested_rope = false;  ///< and with an object for each type of layers
  bool ignores_partial = false;    ///< qk_rope_head_dim dims rotate, whatever the part
  bool is_whole = false;           ///< rope_head_dim must be head_dim
  /// swa_qk_nope_head_dim and swa_qk_rope_head_dim, which sliding layers have in their place.
  std::size_t local_nope_dim = 0, local_rope_dim = 0;
  bool has_axes = false;  ///< M-RoPE
  axis_order order = axis_order::contiguous;
  bool time_last = false;                    ///< mrope_section is [h, w, t], else [t, h, w]
  std::array<std::size_t, 3> sections = {};  ///< mrope_section; 0: must be given
  double yarn_slope = 0;  ///< YaRN's attention factor is this * ln(factor) + 1; 0: as published
  double beta_fast = 32;  ///< of YaRN
  std::string_view ntk_key = {};  ///< factor of dynamic NTK beyond max_trained_positions tokens

  // Layers.
  /// num_kv_shared_layers: how many layers, the last ones, write no keys. None: no such key.
  std::optional<std::size_t> kv_shared = {};
  std::size_t keyed_layers = 0;     ///< the default is that all but this many, the first, share
  bool slides = false;              ///< all slide if sliding_window is given
  bool window_is_off = false;       ///< they do, though llama.cpp ignores the window
  std::size_t slide_if_layers = 0;  ///< only the model with this many layers slides
  bool nope_slide = false;          ///< layers without RoPE slide
  bool even_slide = false;          ///< even layers below max_window_layers slide
  window_rule window_is = window_rule::last_keys;
  std::string_view window_key = "sliding_window";
  std::size_t window = 0;              ///< sliding_window, where the key is absent rather than null
  std::string_view sliding_note = {};  ///< a sentence for users where layers slide
  bool window_needs_flag = false;      ///< none slides unless use_sliding_window is true
  std::size_t max_window_layers = 0;   ///< layers from this one on slide
  std::size_t full_every = 1;          ///< one of n layers has full attention, the others slide
  std::size_t full_offset = 0;  ///< attn_layer_offset: the first layer of full_place::by_offset
  full_place full_at = full_place::last_of_each;
  bool rest_full = false;        ///< layers after the last n whole ones have full attention
  std::string_view others = {};  ///< type of the others, without attention; empty: they slide
  bool first_full = false, last_full = false;  ///< the first, the last has full attention, too
  std::size_t nope_every = 0;                  ///< every n-th layer does not rotate
  std::size_t nope_first_of = 0;   ///< where any layer slides, the first of n does not rotate
  bool full_are_nope = false;      ///< full layers do not rotate, unless layer_rope_theta is given
  bool needs_layer_types = false;  ///< a list of the types must be given
  std::size_t first_listed = 1;    ///< the number of the first layer in linear_attn_config
  bool chunked_where_rotated = false;  ///< layers with RoPE see a chunk, the others all keys
  bool compressed = false;  ///< layers that do not slide see pooled keys, too, whose RoPE has its
                            ///< own keys (DeepSeek-V4)
  bool shares_pooled = false;  ///< kv_source_layer_ids pool them, for later layers too
  index_rule index = {};

  // Scores.
  std::size_t alibi_if_layers = 0;  ///< the model with this many layers has ALiBi and no RoPE
  /// Key of the scale: query_pre_attn_scalar stands for head_dim in 1 / sqrt(head_dim),
  /// attention_multiplier and softmax_scale for all of it; others multiply scores beside it.
  std::string_view scale_key = {};
  double scale_default = 0;  ///< of that key; 0: what leaves 1 / sqrt(head_dim)
  /// The model with this many layers has 1 / sqrt(hidden_size / num_attention_heads).
  std::size_t embedding_scale_layers = 0;
  bool scale_by_dim = false;                  ///< 1 / head_dim
  bool undivided = false;                     ///< scores are not divided by sqrt(head_dim)
  bool flag_undivides = false;                ///< nor are they if scale_attn_weights is false
  double score_cap = 0;                       ///< attn_logit_softcapping
  bool sinks = false, sliding_sinks = false;  ///< a learned logit for each head; if sliding
  bool nope_temperature = false;              ///< layers without RoPE have Llama 4's temperature
  bool mscale_on_scores = false;              ///< YaRN's g(mscale_all_dim)^2 multiplies scores
  bool mscale_is_all_dim = false;             ///< GGUF: mscale equals mscale_all_dim, else it is 1
  std::string_view mscale_note = {};          ///< a sentence for users where that factor is not 1

  /// Keys that sound like position, scores or a mask, but change nothing in this family.
  std::string_view without_effect = {};
};

/// A record. Nothing but its names and its norm must be said.
constexpr model_family family(std::string_view types, norm_rule const& norm,
                              model_family rest = {}) {
  rest.types = types, rest.norm = norm;
  return rest;
}

}}}  // namespace posenc::detail
