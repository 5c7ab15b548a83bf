#pragma once

/// Layers to compare, and the fields in which two of them differ.

#include <cstddef>
#include <vector>

#include "posenc/analysis/compare/fields.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace differing {

using posenc::field_difference, posenc::layer_description;

inline layer_description layer(std::vector<double> const& inv_freq = {1, 0.5},
                               std::size_t blocks = 1) {
  posenc::rotary_description const one{
      .rule = "default", .frequencies = posenc::frequencies(inv_freq), .layout = posenc::halves()};
  return {
      .name = "x", .head_dim = 8, .rotary = std::vector<posenc::rotary_description>(blocks, one)};
}

inline std::vector<field_difference> fields(layer_description const& a, layer_description const& b,
                                            std::size_t length = 100'000,
                                            double threshold = 0x1p-8) {
  return posenc::detail::differing_fields(a, b, length, threshold).fields;
}

}  // namespace differing
