// M-RoPE's sections, as a model's settings give them: for each axis of a position, a number of
// pairs.
#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Throws std::invalid_argument unless all are whole numbers from 0 to 65536. The error begins with
/// `where`.
inline std::vector<std::size_t> axis_sections(std::string const& where,
                                              std::vector<double> const& given) {
  std::vector<std::size_t> sections;
  for (auto const pairs : given) {
    bool const is_in_range = pairs >= 0 && pairs <= 65'536;
    bool const is_whole =
        is_in_range && pairs == static_cast<double>(static_cast<std::size_t>(pairs));
    require(is_whole, where, " must hold whole numbers of pairs, got ", pairs);
    sections.push_back(static_cast<std::size_t>(pairs));
  }
  return sections;
}

/// The axis of each pair. Throws std::invalid_argument unless the sections sum to `pairs`, and
/// unless there are three where axes interleave. The error begins with `where`.
inline pair_axes axes_of(std::string const& where, std::vector<std::size_t> const& sections,
                         std::size_t pairs, bool interleave) {
  auto const sum = std::accumulate(sections.begin(), sections.end(), std::size_t{0});
  require(sum == pairs, where, " must sum to the ", pairs, " pairs of the rotary block, got ", sum);
  if (!interleave) return contiguous_axes(sections);
  require(sections.size() == 3, where, " must have 3 sections where axes interleave, got ",
          sections.size());
  return interleaved_axes(sections);
}

/// Height and width by turns, hwhw..., then time, as ERNIE 4.5 VL and Ling VL have them. `sections`
/// are the numbers of pairs of time, height and width. Throws std::invalid_argument unless there
/// are three sections that sum to `pairs`, and those of height and width are equal. The error
/// begins with `where`. [modeling_ernie4_5_vl_moe.py, recomposition_to_3d]
inline pair_axes alternating_axes_of(std::string const& where,
                                     std::vector<std::size_t> const& sections, std::size_t pairs) {
  require(sections.size() == 3, where, " must have 3 sections where axes alternate, got ",
          sections.size());
  require(sections[1] == sections[2], where, " must have as many pairs of height, ", sections[1],
          ", as of width, got ", sections[2]);
  axes_of(where, sections, pairs, false);  // for its check of the sum
  std::vector<std::size_t> axes(pairs, 0);
  for (std::size_t i = 0; i < 2 * sections[1]; ++i) axes[i] = 1 + i % 2;
  return pair_axes(std::move(axes));
}

}  // namespace detail
}  // namespace posenc
