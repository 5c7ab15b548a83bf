// How a model encodes positions, layer by layer, as data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/log_n.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Frequencies for each length of the sequence: dynamic NTK and LongRoPE depend on it.
class frequencies_by_length {
 public:
  /// The same at every length.
  frequencies_by_length(frequencies f)
      : at_([f = std::move(f)](std::size_t) { return f; }), is_constant_(true) {}
  /// `at` is asked anew for each length.
  explicit frequencies_by_length(std::function<frequencies(std::size_t length)> at)
      : at_(std::move(at)), is_constant_(false) {}

  frequencies at(std::size_t length) const { return at_(length); }   ///< length: in tokens
  bool depends_on_length() const noexcept { return !is_constant_; }  ///< if not, any length will do

 private:
  std::function<frequencies(std::size_t)> at_;
  bool is_constant_;
};

/// A key of a model's settings, and its value as JSON writes it.
struct model_setting {
  std::string key;    ///< rope_scaling.factor for a key within an object
  std::string value;  ///< as JSON writes it

  bool operator==(model_setting const&) const = default;
};

/// Site 2: how queries and keys rotate.
struct rotary_description {
  /// default, linear, dynamic, ntk, yarn, longrope, llama3 or proportional.
  std::string rule;
  frequencies_by_length frequencies;           ///< a value for each length
  std::variant<halves, interleaved> layout;    ///< of pairs within the block
  rotary_block block = rotary_block::first();  ///< which dims rotate
  bool opposite = false;  ///< by the opposite angle (nanochat): make rows by rows_of
  /// The tensor rope_freqs of a GGUF file divides the frequencies of the rule.
  bool has_pair_factors = false;
  /// The axis of each pair (M-RoPE). If it is absent, all pairs rotate by the position of the
  /// token.
  std::optional<pair_axes> axes = {};
  /// The numbers of the rule, read or assumed, under the keys of rope_parameters; a number
  /// that has no key there has its key or tensor of GGUF.
  std::vector<model_setting> parameters = {};
};

/// The numbers that a norm takes together, and its weights.
enum class norm_scope {
  unknown,      ///< posenc does not know whether there is a norm
  none,         ///< there is no norm
  head,         ///< a head, by weights that all heads share (Qwen 3), or none: head_norm
  own_weights,  ///< a head, with weights for each head (PLaMo 2)
  token,        ///< all heads of a token, by a weight for each number (OLMo 2)
  centred       ///< a LayerNorm, which subtracts the mean (Cohere)
};

/// The norm of a layer's queries, keys or values, without its weights. Plain data. head_norm_of
/// (model/rotate.hpp) makes it.
struct norm_description {
  norm_scope of = norm_scope::unknown;  ///< what it takes together
  head_norm<> how = {};                 ///< eps, place, plus one; eps is 0 if a file leaves it out
  std::size_t weights = 0;  ///< their number; 0 if there are none, and where head_norm_of refuses
  std::string tensor = {};  ///< the last part of its name: q_norm.weight, attn_q_norm.weight
};

/// Site 3: ALiBi [Press 2021]. For a power of 2 of heads the last slope is 2^-max_bias.
struct alibi_bias {
  std::size_t heads;    ///< of queries
  double max_bias = 8;  ///< minus log2 of the last slope
  double factor = 1;    ///< on the slopes: Falcon divides them by sqrt(head_dim), as it does scores

  /// Throws std::invalid_argument as alibi does.
  posenc::alibi encoding() const {
    posenc::alibi const plain(heads, max_bias);
    std::vector<double> slopes(plain.slopes().begin(), plain.slopes().end());
    for (auto& slope : slopes) slope *= factor;
    return posenc::alibi::with_slopes(slopes);
  }
};

/// Site 3: T5's buckets of distances, with a learned bias each.
struct bucket_bias {
  std::size_t buckets;       ///< in all
  std::size_t max_distance;  ///< in tokens; farther ones share a bucket
};

/// Sparse attention: heads that choose which keys a query sees. They choose the keys with the
/// highest sum over heads h of w_h relu(<q_h, k>), and in MiniMax-M3 the keys with the highest
/// max_h <q_h, k>. All these heads share one key head.
struct index_heads {
  std::size_t heads;             ///< of queries
  std::size_t head_dim;          ///< of each, with the dims that do not rotate
  rotary_description rotary;     ///< how they rotate; mostly other dims than in attention
  std::size_t chosen;            ///< number of blocks of keys that a query sees
  std::size_t block = 1;         ///< keys in a block
  std::size_t local_blocks = 0;  ///< number of blocks, up to its own, that a query always sees
  /// Tokens that one index key stands for. It rotates at the position of the first.
  std::size_t key_stride = 1;
};

/// Tokens that see each other both ways where queries see no later keys else.
enum class both_ways {
  none,
  image,                ///< of one image (full layers of Gemma 3)
  image_within_window,  ///< the same, no farther back than the window (Gemma 3 and 4)
  prefix                ///< of the prompt (PaliGemma)
};

/// The settings of layers of one kind, site by site. An absent setting does not act. Plain data.
struct layer_description {
  /// full_attention, sliding_attention ..., as the settings say, with ", NoPE" if it does not
  /// rotate.
  std::string name;
  std::vector<std::size_t> layers = {};  ///< their indices, from 0
  std::size_t head_dim = 0;              ///< of queries and keys, with the dims that do not rotate
  std::size_t heads = 0;                 ///< of queries; 0 where posenc does not know
  std::size_t key_heads = 0;             ///< of keys and values, each for a group of heads, or 0
  /// Mostly one; none is NoPE. A vision model has one for each axis of the image.
  std::vector<rotary_description> rotary = {};
  norm_description query_norm = {};  ///< before or after the rotation, as it says
  norm_description key_norm = {};    ///< as for queries
  norm_description value_norm = {};  ///< values do not rotate
  /// The projection of keys adds a bias; none: posenc does not know.
  std::optional<bool> key_bias = {};
  bool clips_keys = false;  ///< they are cut to a range behind their bias (OLMo)
  // Scores <q, k> / sqrt(head_dim) are multiplied by softmax_factor and temperature, then capped,
  // then biased, then masked.
  std::optional<alibi_bias> alibi = {};                  ///< site 3
  std::optional<bucket_bias> buckets = {};               ///< site 3
  std::optional<position_temperature> temperature = {};  ///< of queries
  /// DeepSeek's mscale squared, Gemma's scale ...; sqrt(head_dim) where a model does not divide.
  double softmax_factor = 1;
  std::optional<double> score_cap = {};  ///< c tanh(score / c)
  bool sinks = false;                    ///< each head has a learned sink logit, as it is
  // The keys that a query sees: mask_of (model/layer_mask.hpp) makes the mask.
  std::optional<std::size_t> window = {};         ///< earlier keys are at distances below this
  std::optional<std::size_t> ahead = 0;           ///< so many later keys; none: all (an encoder)
  std::optional<std::size_t> chunk = {};          ///< the keys of the query's chunk of this size
  posenc::both_ways both_ways = both_ways::none;  ///< tokens that see each other beside these
  std::optional<index_heads> index = {};          ///< a query sees the keys that these choose
  bool shares_index = false;  ///< a query sees the keys that an earlier layer chose
  /// So many tokens, or none, are pooled to one more key, which queries see beside the window. It
  /// rotates at the position of its first token.
  std::size_t pooled = 0;

  /// Whether keys can be stored without their bias, which attention then adds (key_bias): there is
  /// one, and neither norm nor clip behind it. R(p) norm(W x + b) has no term of b. None: posenc
  /// does not know.
  std::optional<bool> key_bias_is_separable() const {
    if (key_bias == false || clips_keys || key_norm.of > norm_scope::none) return false;
    return key_norm.of == norm_scope::none ? key_bias : std::nullopt;
  }
};

/// The result of a reader: a model's settings. Plain data.
struct model_description {
  std::string type;                         ///< model_type, or general.architecture of GGUF
  std::size_t layers = 0;                   ///< their number
  std::optional<std::size_t> context = {};  ///< tokens that the model is made for
  std::string embedding = {};               ///< site 1: learned, sinusoidal, or empty
  std::vector<layer_description> kinds;     ///< each layer is of one of them
  /// For each layer, the layer whose keys and values its queries see: another layer, if it writes
  /// none (Gemma 3n, Gemma 4). Empty: each layer sees its keys and values.
  std::vector<std::size_t> key_layers = {};
  /// Defaults that stand for absent keys, one sentence each.
  std::vector<std::string> assumptions = {};
  /// Remarks for users of these settings, one sentence each.
  std::vector<std::string> notes = {};

  // The same for programs. If the file is GGUF, `read` has only the keys about positions.
  std::vector<model_setting> read = {};     ///< keys that are given and used
  std::vector<model_setting> assumed = {};  ///< keys that are absent, and the default of each
  /// Keys about positions, the scale of scores or the mask that are given and not used.
  std::vector<model_setting> ignored = {};

  /// The kind of a layer. Throws std::invalid_argument if there is no such layer.
  layer_description const& kind_of(std::size_t layer) const& {
    for (auto const& kind : kinds) {
      if (std::ranges::find(kind.layers, layer) != kind.layers.end()) return kind;
    }
    detail::refuse("model_description: layer must be below the number of layers, ", layers,
                   ", got ", layer);
  }
  /// The kind of a temporary, as a copy.
  layer_description kind_of(std::size_t layer) && { return std::as_const(*this).kind_of(layer); }
};

/// The answer of readers to an unknown model_type or general.architecture, and to keys that they do
/// not read though the names say that they act.
///
///     read_gguf("newcomer.gguf", {.unknown = posenc::unknown_model::as_llama})
enum class unknown_model {
  refused,  ///< it is an error
  as_llama  ///< it is read with Llama's layout of pairs, and Llama's defaults for absent keys;
            ///< assumptions say so, notes and ignored list the keys
};

}}  // namespace posenc
