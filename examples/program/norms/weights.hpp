// How strongly the weights of a model's heads write and read each frequency: norms of the rows of
// W_q and W_k, from a GGUF file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace norms {

/// Of a pair's two rows of W: their Frobenius norm, which is the root mean square of the norm of
/// the pair for inputs of mean square 1 that do not depend on each other. Where the file has a bias
/// its squares are added, and where it has the norm of queries or keys (QK-norm), each head is
/// brought to the root mean square 1 and multiplied by its weights.
using norms_of_head = std::vector<double>;  ///< [pair]

/// A head of queries, with the head of keys that it reads: grouped queries share one.
struct head_of_weights {
  std::size_t head, key_head;
  norms_of_head share;  ///< of the budget: query norm * key norm / the sum over pairs and `rest`
  double fast;          ///< the share of pairs that turn within fast_tokens
  double whole;         ///< the share of pairs that turn within the context, with those
};

/// The bias of a head of keys.
struct bias_of_head {
  norms_of_head norms;       ///< of b
  double norm, share;        ///< of all dims; its part of the mean square of a key
  std::vector<double> ways;  ///< rms error of a logit, of each of bias_formats: as it is, bias out
  std::vector<std::size_t> outlying;  ///< pairs that b lifts above W x, the largest first
};
/// In which a bias is tried.
inline constexpr char const* bias_formats[]{"q8_0", "q4_0"};
/// A pair of b is outlying where its norm is above so many times the root mean square of W x's.
inline constexpr double outlying_from = 2;

struct layer_of_weights {
  std::size_t layer;
  std::vector<double> inv_freq;              ///< of each pair
  std::vector<norms_of_head> queries, keys;  ///< [head]
  std::vector<head_of_weights> heads;
  std::vector<bias_of_head> biases = {};  ///< [key head]; empty: keys have none
  bool norm_behind = false;               ///< a norm of keys stands behind the bias

  /// How many pairs turn within so many tokens.
  std::size_t pairs_within(std::size_t tokens) const;
};

inline constexpr std::size_t fast_tokens = 32;

struct model_of_weights {
  std::string title;                     ///< file, model, heads, rule, layout
  std::size_t context;                   ///< in tokens
  std::vector<layer_of_weights> layers;  ///< those that rotate
  std::vector<std::size_t> unrotated;    ///< layers without rotation

  struct place {
    std::size_t layer, head;  ///< indices in `layers` and its `heads`
  };
  /// All heads, the largest share of fast pairs first.
  std::vector<place> by_fast_share() const;
  head_of_weights const& at(place p) const { return layers[p.layer].heads[p.head]; }
};

/// All layers, or one. Errors of a logit, see the verb keys, are of keys R(p) (W x + b) whose
/// inputs are independent, of mean square 1 times the weights of the layer's norm, and of queries
/// of the mean square that W and b give those that read the head. Frequencies, layout, rotary dims
/// and head_dim are those that posenc::read_gguf finds; context: that of the file unless given.
/// Reads the tensors blk.N.attn_q and attn_k, or attn_qkv, row by row. Throws std::runtime_error if
/// a tensor is absent or has another shape than heads and dims give, as program::weight_files does, and
/// std::invalid_argument as posenc::read_gguf does.
model_of_weights read_weights(std::string const& file, std::optional<std::size_t> context,
                              std::optional<std::size_t> layer);

}  // namespace norms
