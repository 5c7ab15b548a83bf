#pragma once

/// What the readers of models' settings guarantee.

#include <cstddef>

#include "must.hpp"
#include "posenc/model/model_description.hpp"

namespace fuzz {

inline void check(posenc::rotary_description const& rotary, std::size_t head_dim) {
  for (std::size_t const length : {std::size_t{1}, std::size_t{1} << 20}) {
    auto const f = rotary.frequencies.at(length);
    must(f.rotary_dim() <= head_dim, "more rotates than a head has");
    must(rotary.block.first_dim(head_dim, f.rotary_dim()) + f.rotary_dim() <= head_dim,
         "a rotary block outside the head");
    must(!rotary.axes || rotary.axes->pairs() == f.pairs(), "other axes than pairs");
  }
}

inline void check(posenc::model_description const& model) {
  std::size_t layers = 0;
  for (auto const& kind : model.kinds) {
    layers += kind.layers.size();
    must(!kind.layers.empty(), "a kind without layers");
    must(posenc::is_finite(kind.softmax_factor), "a factor of the softmax that is not finite");
    for (auto const& rotary : kind.rotary) check(rotary, kind.head_dim);
    if (kind.index) {
      check(kind.index->rotary, kind.index->head_dim);
      must(kind.index->heads != 0 && kind.index->block != 0 && kind.index->key_stride != 0,
           "an indexer without heads, blocks or keys");
      must(!kind.shares_index, "an indexer that is shared and its own");
    }
  }
  must(layers == model.layers, "a layer of no kind, or of two");
  auto const& keys = model.key_layers;
  must(keys.empty() || keys.size() == layers, "not one layer of keys per layer");
  for (std::size_t i = 0; i < keys.size(); ++i)
    must(keys[i] <= i && keys[keys[i]] == keys[i], "keys of a later layer, or of one without");
}

}  // namespace fuzz
