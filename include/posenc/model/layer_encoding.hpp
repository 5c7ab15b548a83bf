// What one kind of layer of a model does about position.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/pair_axes.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/softmax/position_temperature.hpp"

namespace posenc::inline POSENC_TARGET {

/// Frequencies as a model has them at a length of the sequence, in tokens: dynamic NTK and LongRoPE
/// depend on it, no other rule does.
class frequencies_by_length {
 public:
  frequencies_by_length(frequencies f)
      : at_([f = std::move(f)](std::size_t) { return f; }), constant_(true) {}
  explicit frequencies_by_length(std::function<frequencies(std::size_t length)> at)
      : at_(std::move(at)), constant_(false) {}

  frequencies at(std::size_t length) const { return at_(length); }
  bool depends_on_length() const noexcept { return !constant_; }

 private:
  std::function<frequencies(std::size_t)> at_;
  bool constant_;
};

/// Site 2: how queries and keys are rotated.
struct rotary_encoding {
  /// default, linear, dynamic, ntk, yarn, longrope, llama3, proportional
  std::string rule;
  frequencies_by_length frequencies;
  std::variant<halves, interleaved> layout;
  rotary_block block = rotary_block::first();
  bool has_pair_factors = false;  ///< a GGUF file's rope_freqs divide the rule's frequencies
  std::optional<pair_axes> axes =
      {};  ///< several axes of positions (M-RoPE); all pairs take the token's position without
};

/// ALiBi [Press 2021]: slopes of `heads` heads, the last of which, where heads are a power of 2, is
/// 2^-max_bias.
struct alibi_bias {
  std::size_t heads;
  double max_bias = 8;
};

/// T5's relative position buckets, a learned bias each.
struct bucket_bias {
  std::size_t buckets, max_distance;
};

/// A kind of layer, by site. What is absent does not act; without any it is NoPE. Plain data.
struct layer_encoding {
  std::string name;  ///< as the model's configuration has it: full_attention, sliding_attention ...
  std::vector<std::size_t> layers = {};  ///< which, counted from 0
  std::size_t head_dim = 0;  ///< of queries and keys, the dims without rotation included
  std::vector<rotary_encoding> rotary =
      {};  ///< mostly one; a vision model rotates a block of each head for each axis
  std::optional<alibi_bias> alibi = {};
  std::optional<bucket_bias> buckets = {};
  std::optional<position_temperature> temperature = {};
  double softmax_factor = 1;  ///< on all scores, beside 1 / sqrt(head_dim): DeepSeek's mscale
                              ///< squared, Gemma's and Granite's own scales
  std::optional<double> score_cap = {};    ///< c tanh(score / c), before the mask
  bool sinks = false;                      ///< a learned logit a head joins the softmax
  std::optional<std::size_t> window = {};  ///< keys at distances below it are seen
  std::optional<std::size_t> chunk = {};   ///< keys of the same chunk of so many positions are seen
};

}  // namespace posenc
