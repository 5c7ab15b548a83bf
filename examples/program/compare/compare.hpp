// Which settings of two models or layers differ, and the first distance at which scores do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "layer_fields.hpp"
#include "posenc/model/model_description.hpp"
#include "score_matrix.hpp"

namespace comparing {

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

/// What differs between two layers.
struct layer_comparison {
  std::vector<field_difference> fields;  ///< empty: the layers encode positions alike
  /// A distance at which `worst` exceeds the threshold and at the distance before does not: the
  /// first one, if `worst` grows up to it. Nothing if `worst` exceeds it at no distance of
  /// `scores`.
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

/// Two layers: which settings differ, from which distance on scores of rotated queries and keys
/// differ by more than a threshold, and by how much.
///
///     auto const difference = compare(a.kind_of(3), b.kind_of(3), {.length = 131'072});
///     difference.matters_from;             // 2: at distance 2 a score may be off by 2^-8
///     difference.scores.back().worst;      // 2: what it can be off by at the last distance
///
/// Positions are those of text: all axes have the same. Layers of different head_dim have no
/// scores. Throws std::invalid_argument unless threshold is positive and length from 1 to 2^48.
layer_comparison compare(posenc::layer_description const& a, posenc::layer_description const& b,
                         compare_options const& options = {});

/// Two models, layer by layer, as many as both have; those in which the same pair of kinds meets
/// are together. Throws as for layers.
model_comparison compare(posenc::model_description const& a, posenc::model_description const& b,
                         compare_options const& options = {});

}  // namespace comparing
