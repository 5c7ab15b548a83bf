// What differs between two models or two layers: the answer of compare().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Which differences matter.
struct compare_options {
  /// A difference of scores matters above this, relative to the largest score of queries and keys
  /// of that length, |q| |k|. 2^-8 is half a unit in the last place of bfloat16, which has 8
  /// significant bits: below it a score may stay what it was.
  double threshold = 0x1p-8;
  /// Tokens of the sequence, for dynamic_ntk and longrope, and as the end of distances; without,
  /// the smaller context of two models, or 4096.
  std::optional<std::size_t> length = {};
};

/// A setting that differs.
struct field_difference {
  std::string field,  ///< as layer_description or model_description names it
      a,              ///< its value in the first model, as text; "" where it is absent
      b;              ///< its value in the second model

  bool operator==(field_difference const&) const = default;
};

/// How much scores differ at a distance from query to key.
struct score_difference {
  std::int64_t distance;  ///< query position - key position
  /// The largest |f_a - f_b| * distance of a pair, in radians, not reduced; nothing where the pairs
  /// are of other dims.
  std::optional<double> angle;
  /// The largest |q^T (S_a - S_b) k| of unit q and k, S the factor on scores and the rotation by
  /// this distance, over the largest |q^T S k| of either. By Cauchy and Schwarz max_i 2
  /// |sin(delta_i distance / 2)| where only the frequencies differ, by delta_i.
  double worst;
  /// Root mean square of q^T (S_a - S_b) k for q, k ~ N(0, I), the norm of S_a - S_b, over that of
  /// q^T S k: what a typical score is off by, where `worst` is what one could be made to be.
  double gaussian;
};

/// What differs between two layers.
struct layer_comparison {
  std::vector<field_difference> fields;  ///< empty: the layers encode positions alike
  /// A distance at which `worst` is above the threshold, while it is not one before: the first, if
  /// it grows until there. Nothing if it is above at none of the distances of `scores`.
  std::optional<std::int64_t> matters_from = {};
  /// At 0, 1, 2, 4, 8 ..., at matters_from, and at the end of the reach of both layers: the smaller
  /// window, chunk or length. Empty if nothing differs in rotation or factor.
  std::vector<score_difference> scores = {};
};

/// Layers of which the same is to say.
struct compared_layers {
  std::vector<std::size_t> layers;  ///< their indices, from 0
  layer_comparison difference;      ///< the same for each of them
};

/// What differs between two models.
struct model_comparison {
  std::vector<field_difference> fields;  ///< of the models: type, layers, context, embedding
  std::vector<compared_layers> layers;   ///< those that differ
  std::size_t equal_layers = 0;          ///< how many do not
};

}  // namespace posenc
