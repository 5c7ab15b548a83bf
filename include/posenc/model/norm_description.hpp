// The norms of a layer's queries, keys and values, as a model's settings say them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/head_norm.hpp"

namespace posenc::inline POSENC_TARGET {

/// What a norm takes together, and by which weights.
enum class norm_scope {
  unknown,      ///< posenc does not know whether there is a norm
  none,         ///< there is no norm
  head,         ///< a head, by weights that all heads share (Qwen 3), or none: head_norm
  own_weights,  ///< a head, by weights of its own (PLaMo 2)
  token,        ///< all heads of a token, by a weight for each number (OLMo 2)
  centred       ///< a LayerNorm, which subtracts the mean (Cohere)
};

/// The norm of a layer's queries, keys or values, without its weights. Plain data.
struct norm_description {
  norm_scope of = norm_scope::unknown;  ///< what it takes together
  head_norm<> how = {};     ///< eps, place and the rest; eps is 0 if a file leaves it out
  std::size_t weights = 0;  ///< their number; 0 if there are none, and where head_norm_of refuses
  std::string tensor = {};  ///< the last part of its name: q_norm.weight, attn_q_norm.weight
};

/// The norm for rotate. `weights` are those of the tensor; they must outlive the step.
///
///     rotated<halves>(k, to).norm(head_norm_of<bfloat16>(layer.key_norm, weights_of_keys))
///
/// Throws std::invalid_argument unless it is a norm_scope::head with eps, and there are as many
/// weights as the layer says.
template <storable W = float>
head_norm<W> head_norm_of(norm_description const& norm, std::span<W const> weights = {}) {
  constexpr std::string_view scopes[]{"one that is not known",
                                      "none",
                                      "one without eps",
                                      "one with weights for each head",
                                      "one over all heads of a token",
                                      "one that subtracts the mean"};
  detail::require(norm.of == norm_scope::head && norm.how.eps > 0,
                  "head_norm_of: the norm must be of each head for itself, with eps and with "
                  "weights that all heads share, got ",
                  scopes[static_cast<std::size_t>(norm.of)]);
  detail::require(weights.size() == norm.weights, "head_norm_of: there must be ", norm.weights,
                  " weights, got ", weights.size());
  auto const& [none, eps, kind, place, eps_place, plus_one] = norm.how;
  return {weights, eps, kind, place, eps_place, plus_one};
}

namespace detail {

/// What is known of the norms of some models.
struct known_norms {        // NOLINT(clang-analyzer-optin.performance.Padding): by topic
  std::string_view models;  ///< model_type or general.architecture, with spaces between
  norm_scope of = norm_scope::head;
  norm_place place = norm_place::before;
  std::string_view query = "q_norm", key = "k_norm";  ///< tensors; empty: without weights
  bool plus_one = false;
  bool values = false;         ///< values have it, too, without weights
  bool where_rotated = false;  ///< only in layers that rotate
  std::string_view flag = {};  ///< only where this key is true
  bool by_default = false;     ///< where that key is absent
  bool optional = false;       ///< only in a GGUF file that has the tensors

  /// Describes a kind of layers, with so many heads of queries, and of keys.
  void describe(auto& kind, std::string const& prefix, double eps, std::size_t heads,
                std::size_t key_heads) const {
    auto const one = [&](norm_scope scope, std::string_view name, std::size_t count) {
      norm_description norm{.of = scope};
      if (scope <= norm_scope::none) return norm;
      norm.how.eps = static_cast<float>(eps), norm.how.place = place;
      if (name.empty()) return norm;
      norm.how.plus_one = plus_one;
      if (scope == norm_scope::head) norm.weights = kind.head_dim;
      if (scope == norm_scope::token) norm.weights = kind.head_dim * count;
      norm.tensor = prefix + std::string(name) + ".weight";
      return norm;
    };
    bool const skips = kind.head_dim == 0 || (where_rotated && kind.rotary.empty());
    auto const scope = skips ? norm_scope::none : of;
    kind.query_norm = one(scope, query, heads);
    kind.key_norm = one(scope, key, key_heads);
    bool const has_none = scope != norm_scope::unknown && !values;
    kind.value_norm = one(has_none ? norm_scope::none : scope, {}, 0);
  }
};

}  // namespace detail
}  // namespace posenc
