// The bias of one kv head: what turns with the position of a key, and what does not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/rows/row_maker.hpp"
#include "posenc/score/detail/wave_sums.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// At most 64 pairs whose bias is not 0.
struct biased_pairs {
  struct pair {
    std::size_t x_dim, y_dim, axis;
    double x, y;  ///< of the bias
  };
  std::vector<pair> pairs;
  row_maker rows;  ///< of these pairs
  wave_sums sums;  ///< of these pairs
};

struct biased_head {
  std::vector<std::pair<std::size_t, double>> constants;  ///< dims that no frequency turns; bias
  std::vector<biased_pairs> parts;

  /// b: [head_dim]. axes: null, or of each pair. first_dim: of the rotary block.
  template <pair_layout Layout>
  static biased_head of(std::span<float const> b, frequencies const& f, pair_axes const* axes,
                        std::size_t first_dim) {
    biased_head result;
    auto const add_constant = [&](std::size_t dim, double factor) {
      if (b[dim] != 0) result.constants.push_back({dim, static_cast<double>(b[dim]) * factor});
    };
    for (std::size_t dim = 0; dim < b.size(); ++dim)
      if (dim < first_dim || dim - first_dim >= f.rotary_dim()) add_constant(dim, 1);
    auto const x_dim = [&](std::size_t i) { return first_dim + Layout::x_index(i, f.pairs()); };
    auto const y_dim = [&](std::size_t i) { return first_dim + Layout::y_index(i, f.pairs()); };
    std::vector<std::size_t> turned;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      if (f.inv_freq()[i] == 0)
        add_constant(x_dim(i), f.attention_factor()), add_constant(y_dim(i), f.attention_factor());
      else if (b[x_dim(i)] != 0 || b[y_dim(i)] != 0)
        turned.push_back(i);
    }
    for (std::size_t from = 0; from < turned.size(); from += wave_sums::most) {
      auto const some =
          std::span(turned).subspan(from, std::min(wave_sums::most, turned.size() - from));
      std::vector<biased_pairs::pair> pairs;
      std::vector<std::size_t> axis_of;
      for (auto const i : some) {
        axis_of.push_back(axes == nullptr ? 0 : axes->axis(i));
        pairs.push_back({x_dim(i), y_dim(i), axis_of.back(), static_cast<double>(b[x_dim(i)]),
                         static_cast<double>(b[y_dim(i)])});
      }
      auto of_some = for_pairs(some.size(), f.attention_factor(),
                               [&](std::size_t n) { return with_rest(f, some[n]); });
      auto rows = axes == nullptr ? row_maker(std::move(of_some))
                                  : row_maker(std::move(of_some), pair_axes(std::move(axis_of)));
      result.parts.push_back({std::move(pairs), std::move(rows), wave_sums(f, some)});
    }
    return result;
  }
};

}}}  // namespace posenc::detail
