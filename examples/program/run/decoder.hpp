// A trained decoder: ids in, logits out. Which rotation, mask and bias a layer has is asked of its
// posenc::model_description alone, and may be changed before a pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "posenc/attention/rules.hpp"
#include "posenc/model/model_description.hpp"
#include "program/run/cache.hpp"
#include "program/tensors/weights.hpp"

namespace run {

/// Some queries of one layer, which look at the first `keys` tokens.
struct query_block {
  std::size_t layer, first, queries, keys;
};

/// How some heads of a layer attend. `says` is the model's, and may be changed: rotary, window,
/// ahead, chunk, alibi, temperature, softmax_factor, score_cap act as they do in the library.
struct way {
  posenc::layer_description says;
  std::vector<std::size_t> heads = {};  ///< of queries, which go by this; empty: all
  std::int64_t query_offset = 0;        ///< added to positions where queries rotate
  std::int64_t key_offset = 0;          ///< where keys do; the mask goes by neither
  /// Keys were stored so many positions ahead, and rotated back (a context that was shifted).
  std::int64_t keys_moved = 0;
  std::vector<std::size_t> key_heads = {};  ///< of each query head; empty: in groups
  stored keys = stored::f32, values = stored::f32;
  bool transforms_keys = false;   ///< queries and keys by Hadamard, behind the rotation
  bool key_bias_is_apart = false; ///< keys are stored without their bias, which attention adds
  /// Changes the rules of a block, last of all: temperature, mask, sinks. What they view must live
  /// until the next call.
  std::function<void(posenc::attention_rules&, query_block const&)> rules = {};
};

/// The ways of a layer, each with heads that no other has.
struct layer_plan {
  std::vector<way> ways;  ///< mostly one
};

/// What a pass shows. Views end with the call.
class observer {
 public:
  virtual ~observer() = default;

  struct heads {
    query_block at;
    /// Before and after the rotation; norms of heads that stand before it are in both.
    posenc::heads_view<float const> q, k, rotated_q, rotated_k, v;
  };
  virtual bool asks_for_heads(std::size_t /*layer*/) const { return false; }
  virtual void see(heads const&) {}  ///< of the layer's first way

  virtual bool asks_for_weights(std::size_t /*layer*/) const { return false; }
  /// weights [queries][keys] of a query head.
  virtual void see_weights(query_block const&, std::size_t /*head*/, std::span<float const>) {}

  /// What logits of the tokens from `first` on are made from, [tokens][width].
  virtual void see_states(std::size_t /*first*/, std::span<float const>) {}
  /// logits [rows][vocabulary] of the tokens from `first` on; some rows at a time.
  virtual void see_logits(std::size_t /*first*/, std::span<float const>) {}
};

class loaded_model;

/// Reads a model, and checks that the pass knows all of it. Throws std::runtime_error or
/// std::invalid_argument, whose sentence says which part is missing, of another shape or not known.
class decoder {
 public:
  /// The files must outlive this. `most_logits`: made at a time, for a vocabulary may be large.
  explicit decoder(program::weight_files const& files, std::size_t threads = 2,
                   std::size_t most_logits = std::size_t{1} << 25);
  ~decoder();
  decoder(decoder&&) noexcept;

  posenc::model_description const& description() const;
  std::size_t vocabulary() const;
  std::size_t width() const;  ///< of the vectors of tokens
  std::size_t layers() const;
  std::size_t heads() const;      ///< of queries
  std::size_t key_heads() const;  ///< of keys
  /// What the model says, as a start for changes.
  std::vector<layer_plan> plans() const;
  /// The logits [tokens][vocabulary] of the states that an observer was shown. All logits of a text
  /// may be more than the memory has, and states are not.
  std::vector<float> logits_of(std::span<float const> states) const;
  loaded_model const& model() const { return *model_; }

 private:
  std::unique_ptr<loaded_model> model_;
};

/// A text on its way through a decoder, with the keys and values so far.
class sequence {
 public:
  /// length: tokens that will come in all, for frequencies that depend on it. Throws
  /// std::invalid_argument for plans that the decoder cannot follow, std::runtime_error for more
  /// tokens than the model has learned positions.
  sequence(decoder const& of, std::vector<layer_plan> plans, std::size_t length);
  ~sequence();

  std::size_t tokens() const;  ///< so far
  /// The next tokens, in blocks; all logits go to the observer. Throws std::runtime_error for an id
  /// beyond the vocabulary, before anything is computed.
  void append(std::span<std::uint32_t const> ids, observer& watch);
  /// The logits of the last of them; valid until the next call.
  std::span<float const> append(std::span<std::uint32_t const> ids);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Tokens that go through all layers together.
inline constexpr std::size_t block_tokens = 512;

}  // namespace run
