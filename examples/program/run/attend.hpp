// Attention of a block of queries over a layer's cache, as an engine calls posenc.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "program/run/crew.hpp"
#include "program/run/decoder.hpp"

namespace run {

/// A call's queries and keys, which rotate as `by` says.
struct attended {
  way const& by;
  query_block at;
  posenc::heads_view<float const> q;  ///< [queries][heads]
  cached_heads k, v;
  posenc::heads_view<float> outputs;
  std::span<float const> key_bias = {};  ///< that keys are stored without; empty: none
  std::size_t length = 0;                ///< of the sequence
};

/// Writes the outputs of the way's heads, and shows their weights to `watch` if it asks for them.
void attend(crew const& all, attended const& call, observer& watch, std::vector<std::byte>& memory);

}  // namespace run
