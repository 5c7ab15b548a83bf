#pragma once

/// The matrices of scores of layers with one rotary block.

#include <cstddef>
#include <utility>
#include <variant>

#include "posenc/analysis/compare/score_matrix.hpp"

namespace matrices {

using posenc::layer_description;

inline layer_description layer(
    posenc::frequencies f,
    std::variant<posenc::halves, posenc::interleaved> layout = posenc::halves(),
    std::size_t head_dim = 4) {
  return {.name = "x",
          .head_dim = head_dim,
          .rotary = {{.rule = "default", .frequencies = std::move(f), .layout = layout}}};
}

inline posenc::detail::score_matrix matrix(layer_description const& one) { return {one, 4096}; }

}  // namespace matrices
