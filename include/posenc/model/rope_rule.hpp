// From the numbers of a RoPE rule, which either reader found, to frequencies and axes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/layer_description.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What the rules need; each takes some of these.
struct rope_numbers {
  std::size_t head_dim, rotary_dim;
  double base;
  double divisor = 1;         ///< of all frequencies, before LongRoPE
  double factor = 1;          ///< linear, proportional and dynamic
  double alpha = 1;           ///< ntk
  double partial = 1;         ///< proportional: p
  double trained_length = 0;  ///< dynamic
  llama3_scaling llama3 = {};
  yarn_scaling yarn = {};
  longrope_scaling longrope = {};
  std::optional<double> attention_of_long = {};  ///< LongRoPE's attention factor of the long list
};

/// The frequencies of a rule, by the name that rotary_description has.
inline frequencies_by_length rule_of(std::string_view name, rope_numbers const& n) {
  if (name == "proportional") return proportional(n.head_dim, n.base, n.partial, n.factor);
  if (name == "yarn") return yarn(n.rotary_dim, n.base, n.yarn);
  auto const plain = geometric(n.rotary_dim, n.base);
  if (name == "linear") return linear(plain, n.factor);
  if (name == "ntk") return ntk(plain, n.alpha);
  if (name == "llama3") return llama3(plain, n.llama3);
  if (name == "dynamic") {
    auto const at =
        [plain, scaling = dynamic_ntk_scaling{n.factor, n.trained_length}](std::size_t length) {
          return dynamic_ntk(plain, scaling, static_cast<double>(std::max<std::size_t>(length, 1)));
        };
    at(1);  // throws here rather than when it is used
    return frequencies_by_length(at);
  }
  if (name == "longrope") {
    auto const at = [series = linear(plain, n.divisor), scaling = n.longrope,
                     of_long = n.attention_of_long](std::size_t length) {
      auto scaling_at = scaling;
      auto const tokens = static_cast<double>(std::max<std::size_t>(length, 1));
      if (of_long && tokens > scaling.original_length) scaling_at.attention_factor = of_long;
      return longrope(series, scaling_at, tokens);
    };
    at(1);
    at(static_cast<std::size_t>(n.longrope.original_length) + 1);
    return frequencies_by_length(at);
  }
  return plain;
}

/// The numbers of a rule, as rotary_description::parameters has them.
class rope_record {
 public:
  void used(char const* key, std::string value) { parameters.push_back({key, std::move(value)}); }
  double used(char const* key, double value) {
    parameters.push_back({key, shown(value)});
    return value;
  }
  std::vector<model_setting> parameters = {};
};

/// M-RoPE's sections, for each axis a number of pairs. Throws std::invalid_argument unless all are
/// whole numbers from 0 to 65536. Errors here and below begin with `where`.
inline std::vector<std::size_t> axis_sections(std::string const& where,
                                              std::vector<double> const& given) {
  std::vector<std::size_t> sections;
  for (auto const pairs : given) {
    bool const is_whole = pairs >= 0 && pairs <= 65'536 &&
                          pairs == static_cast<double>(static_cast<std::size_t>(pairs));
    require(is_whole, where, " must hold whole numbers of pairs, got ", pairs);
    sections.push_back(static_cast<std::size_t>(pairs));
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

/// Height and width by turns, hwhw..., then time, as ERNIE 4.5 VL and Ling VL have them. `sections`
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

}  // namespace posenc::detail
