// What a run over a text shows: its predictions, and what each head attends to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "program/run/decoder.hpp"
#include "program/run/head_record.hpp"
#include "program/run/predictions.hpp"

namespace run {

/// Means over all tokens of the norm of each pair, before the rotation.
struct pair_norms {
  std::vector<double> q, k;  ///< [heads][pairs], [kv heads][pairs]
  std::size_t pairs = 0;
};

struct layer_record {
  std::vector<head_record> heads = {};
  std::optional<pair_norms> norms = {};  ///< absent: the layer does not rotate
};

struct measurement {
  predictions of_text = {};
  std::vector<float> states = {};         ///< [n][width], if they are kept: decoder::logits_of
  std::vector<top_logits> top = {};       ///< of the positions that were asked for
  std::vector<layer_record> layers = {};  ///< empty unless heads are measured
};

/// What a run is asked for.
struct wanted {
  bool keeps_states = false, measures_heads = false;
  std::vector<std::size_t> top = {};  ///< positions whose largest logits are kept
  /// The model whose predictions the KL divergence is from, and its states; empty: none.
  decoder const* own = nullptr;
  std::span<float const> own_states = {};
};

/// The largest logits that are kept of a position.
inline constexpr std::size_t top_count = 5;

/// One pass over the ids. `progress` is called with the part that is done, 0 to 1. Throws as
/// sequence does.
measurement measure(decoder const& model, std::vector<layer_plan> plans,
                    std::span<std::uint32_t const> ids, wanted const& what,
                    std::function<void(double)> const& progress = {});

/// `count` tokens that follow the ids, each of the largest logit.
std::vector<std::uint32_t> greedy(decoder const& model, std::vector<layer_plan> plans,
                                  std::span<std::uint32_t const> ids, std::size_t count);

}  // namespace run
