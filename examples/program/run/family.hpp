// What families of decoders differ in besides positions: norms, activations, the order of blocks,
// the names of their tensors.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace run {

/// x / root mean square, times the weights or 1 + weights; or LayerNorm, with a bias or without.
enum class norm_kind { rms, rms_plus_one, layer };
enum class activation { silu, gelu, gelu_tanh, relu };
/// Where the norms of a layer stand: before its attention and its network, behind them, or both.
enum class norm_places { before, behind, both };
/// The network reads what attention has added to; or what attention reads, by a norm of its own or
/// by attention's.
enum class block_order { in_turn, parallel, parallel_with_one_norm };
/// How one tensor has queries, keys and values: all of each, or those of a head together.
enum class joined_heads { none, in_turn, by_head };

/// A tensor of GGUF's names and its name in a Hugging Face file, without ".weight".
using tensor_name = std::pair<std::string_view, std::string_view>;

struct family {
  std::string_view hugging_face, gguf;  ///< names of types, with spaces between
  norm_kind norm = norm_kind::rms;
  norm_places places = norm_places::before;
  block_order order = block_order::in_turn;
  activation act = activation::silu;
  bool is_gated = true;
  joined_heads joined = joined_heads::none;
  bool joins_gate = false;        ///< one tensor has the gate's rows, then those of the network
  bool is_transposed = false;     ///< matrices of Hugging Face are [inputs][outputs]
  bool scales_embeddings = false; ///< by the root of their width
  std::size_t first_position = 0; ///< row of the learned table for position 0
  bool renormalises_experts = false;
  bool is_latent = false;         ///< keys and values come from a latent vector (DeepSeek)
  std::string_view layer_prefix = "model.layers.";
  std::vector<tensor_name> names = {};  ///< that differ from Llama's
};

/// Null for a type that is not known.
family const* family_of(std::string_view type, bool is_gguf);
/// The types that are known.
std::string known_types(bool is_gguf);

/// The name in a Hugging Face file of a tensor outside the layers, or of one within a layer, behind
/// the prefix; empty where the family has none.
std::string hugging_face_name(family const& of, std::string_view gguf_name);

}  // namespace run
