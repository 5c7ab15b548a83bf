// A decoder's weights, each with the part that it plays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/model_description.hpp"
#include "program/run/family.hpp"
#include "program/run/products.hpp"
#include "program/tensors/weights.hpp"

namespace run {

/// A norm of the vectors of tokens.
struct token_norm {
  std::vector<float> weights, bias;  ///< no weights: there is no norm; no bias: none is added
  norm_kind kind = norm_kind::rms;
  double eps = 0;

  explicit operator bool() const { return !weights.empty(); }
};

/// down(act(gate x) * up x), or down(act(up x)) without a gate. One tensor may have gate and up.
struct network {
  matrix gate, up, down;
};

/// Networks of which a token chooses some, by the largest of softmax(router x).
struct expert_networks {
  matrix router;
  std::vector<network> all;
  std::size_t used = 0;
  bool renormalises = false;  ///< the weights of those chosen to a sum of 1
  double factor = 1;          ///< on the weights
  std::optional<network> shared = {};
};

/// Keys and values from a vector that the heads of a token share, beside dims that rotate.
struct latent_heads {
  matrix q_a, q_b, kv_a;
  token_norm q_a_norm, kv_a_norm;
  matrix kv_b;                   ///< of each head keys, then values
  std::vector<matrix> k_b, v_b;  ///< in its place, of each head
};

struct loaded_layer {
  token_norm before_attention, behind_attention, before_network, behind_network;
  matrix q, k, v, joined, output;  ///< joined: in place of q, k and v
  std::vector<float> q_norm, k_norm;
  std::vector<float> key_bias;  ///< which the products leave out
  std::optional<latent_heads> latent = {};
  network dense = {};
  std::optional<expert_networks> experts = {};
};

class loaded_model {
 public:
  /// Throws as decoder does.
  loaded_model(program::weight_files const& files, std::size_t threads);

  posenc::model_description description;
  family of;
  crew threads;
  std::size_t width = 0, vocabulary = 0, heads = 0, key_heads = 0, value_dim = 0;
  double eps = 0, embedding_scale = 1, residual = 1, logit_scale = 1, logit_cap = 0;
  std::optional<double> clip;  ///< of queries, keys and values
  program::weight const* embedding = nullptr;
  program::weight const* positions = nullptr;  ///< null: positions are not embedded
  token_norm embedding_norm, output_norm;
  matrix output;
  std::vector<loaded_layer> layers;
  std::size_t most_logits = 0;  ///< made at a time
};

}  // namespace run
