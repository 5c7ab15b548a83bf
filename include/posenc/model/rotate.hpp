// Rotates heads as a model's description says.
#pragma once

#include <span>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Rows of a description's frequencies at a length of the sequence, of the opposite angle if the
/// model rotates by that. Positions are of text, where all axes agree; rows of images are axis_rows
/// of rotary.axes. Accuracy and errors are those of cos_sin_rows.
template <std::floating_point Real = float, position_range Positions>
cos_sin_rows<Real> rows_of(rotary_description const& rotary, std::size_t length,
                           Positions const& positions) {
  cos_sin_rows<Real> rows(rotary.frequencies.at(length), positions);
  return rotary.opposite ? rows.transpose() : rows;
}

/// Rotates heads in place by the description, and rows of its frequencies, with its axes if any:
///
///     for (auto const& rotary : model.kind_of(layer).rotary) {
///       auto const rows = rows_of(rotary, length, positions);  // once per step
///       rotate(rotary, q, rows);
///       rotate(rotary, k, rows);
///     }
///
/// Shapes, accuracy and errors are those of rotate<Layout> (rotation/rotate.hpp).
template <writable_heads V, detail::rows_for<V> Rows>
void rotate(rotary_description const& rotary, V const& heads, Rows const& rows) {
  std::visit([&]<class Layout>(Layout) { rotate<Layout>(heads, rows, rotary.block); },
             rotary.layout);
}

/// The norm for rotate. `weights` are the tensor's; they must outlive the call.
///
///     rotated<halves>(k, to).norm(head_norm_of<bfloat16>(layer.key_norm, weights_of_keys))
///
/// Throws std::invalid_argument unless it is a norm_scope::head with eps, and there are as many
/// weights as the layer says.
template <storable W = float>
head_norm<W> head_norm_of(norm_description const& norm, viewed<W> weights = {}) {
  constexpr std::string_view scopes[]{"one that is not known",
                                      "none",
                                      "one without eps",
                                      "one with weights for each head",
                                      "one over all heads of a token",
                                      "one that subtracts the mean"};
  detail::require(norm.of == norm_scope::head && norm.how.eps > 0,
                  "head_norm_of: the norm must be of each head for itself, with eps and with "
                  "weights that all heads share, got ",
                  scopes[static_cast<std::size_t>(norm.of)]);
  detail::require(weights.size() == norm.weights, "head_norm_of: there must be ", norm.weights,
                  " weights, got ", weights.size());
  auto const& [none, eps, kind, place, eps_place, plus_one] = norm.how;
  return {weights, eps, kind, place, eps_place, plus_one};
}
/// The same, of weights whose type tells W.
template <storable W, std::size_t N>
head_norm<W> head_norm_of(norm_description const& norm, std::span<W const, N> weights) {
  return head_norm_of<W>(norm, viewed<W>(weights));
}

/// The two dims of a head that a pair rotates.
struct pair_dims {
  std::size_t x,  ///< the real part
      y;          ///< the imaginary part

  bool operator==(pair_dims const&) const = default;
};

/// The dims of pair `pair` in a head. Throws std::invalid_argument if the block is not within it.
inline pair_dims dims_of_pair(rotary_description const& rotary, std::size_t head_dim,
                              std::size_t pair) {
  auto const dims = rotary.frequencies.at(1).rotary_dim();
  auto const first = rotary.block.first_dim(head_dim, dims);
  return std::visit(
      [&]<class Layout>(Layout) {
        auto const x = first + Layout::x_index(pair, dims / 2),
                   y = first + Layout::y_index(pair, dims / 2);
        return rotary.opposite ? pair_dims{y, x} : pair_dims{x, y};
      },
      rotary.layout);
}

}}  // namespace posenc
