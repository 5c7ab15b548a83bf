// Both readers make frequencies of the numbers that they find about a rotation.
#pragma once

#include <numeric>

#include "posenc/core/target.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/model/detail/settings.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// LongRoPE of a series. `of_long` is the attention factor of the long list, if it has its own.
inline frequencies_by_length longrope_by_length(frequencies const& series,
                                                longrope_scaling const& scaling,
                                                std::optional<double> of_long = {}) {
  auto const at = [=](std::size_t length) {
    auto scaling_at = scaling;
    auto const tokens = static_cast<double>(std::max<std::size_t>(length, 1));
    if (of_long && tokens > scaling.original_length) scaling_at.attention_factor = of_long;
    return longrope(series, scaling_at, tokens);
  };
  at(1);  // throws here rather than when it is used
  at(static_cast<std::size_t>(scaling.original_length) + 1);
  return frequencies_by_length(at);
}

/// The numbers of a rule, as rotary_description::parameters has them.
class rope_record {
 public:
  void used(std::string_view key, std::string value) {
    parameters.push_back({std::string(key), std::move(value)});
  }
  double used(std::string_view key, double value) { return used(key, shown(value)), value; }
  std::vector<model_setting> parameters = {};
};

/// M-RoPE's sections, for each axis a number of pairs. Throws std::invalid_argument unless all are
/// whole numbers from 0 to 65536. Errors here and below begin with `where`.
inline std::vector<std::size_t> axis_sections(std::string const& where,
                                              std::vector<double> const& given) {
  std::vector<std::size_t> sections;
  for (auto const pairs : given) {
    auto const whole = whole_number(pairs, most_dims);
    require(whole.has_value(), where, " must hold whole numbers of pairs, got ", pairs);
    sections.push_back(*whole);
  }
  return sections;
}

/// The axis of each pair. Throws std::invalid_argument unless the sections sum to `pairs`, and
/// unless there are three where axes interleave.
inline pair_axes axes_of(std::string const& where, std::vector<std::size_t> const& sections,
                         std::size_t pairs, bool interleave) {
  auto const sum = std::accumulate(sections.begin(), sections.end(), std::size_t{0});
  require(sum == pairs, where, " must sum to the ", pairs, " pairs of the rotary block, got ", sum);
  if (!interleave) return contiguous_axes(sections);
  require(sections.size() == 3, where, " must have 3 sections where axes interleave, got ",
          sections.size());
  return interleaved_axes(sections);
}

/// Height and width alternate, hwhw..., then time, as in ERNIE 4.5 VL and Ling VL. `sections`
/// are the numbers of pairs of time, height and width. Throws std::invalid_argument unless there
/// are three that sum to `pairs`, and those of height and width are equal.
/// [modeling_ernie4_5_vl_moe.py, recomposition_to_3d]
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

}}}  // namespace posenc::detail
