// The experiment: attention of one sequence that is split over ranks, keys and values going around
// in a ring. [Liu 2023, ring attention]
#pragma once

#include <vector>

#include "encodings.hpp"
#include "ranks.hpp"
#include "shard.hpp"
#include "split.hpp"

namespace ring {

/// What a rank has in the end: attention of its own queries to all keys, and the seconds of each
/// step.
struct ring_result {
  posenc::attention_result<float> result;
  std::vector<double> computed, waited;  ///< [steps]
};

ring_result ring_attention(ranks const& all, split how, sequence const& s, shard const& mine,
                           attention_function const& attention);

}  // namespace ring
