#pragma once

/// What the readers of models' settings guarantee.

#include <cstddef>
#include <cstdlib>

#include "posenc/model/model_description.hpp"

inline void must(bool holds) {
  if (!holds) std::abort();
}

inline void check(posenc::model_description const& model) {
  std::size_t layers = 0;
  for (auto const& kind : model.kinds) {
    layers += kind.layers.size();
    must(!kind.layers.empty());
    must(posenc::is_finite(kind.softmax_factor));
    for (auto const& rotary : kind.rotary) {
      for (std::size_t const length : {std::size_t{1}, std::size_t{1} << 20}) {
        auto const f = rotary.frequencies.at(length);
        must(f.rotary_dim() <= kind.head_dim);
        must(rotary.block.first_dim(kind.head_dim, f.rotary_dim()) + f.rotary_dim() <=
             kind.head_dim);
        must(!rotary.axes || rotary.axes->pairs() == f.pairs());
      }
    }
  }
  must(layers == model.layers);
}
