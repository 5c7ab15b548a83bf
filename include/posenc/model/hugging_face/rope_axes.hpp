// The axes of the pairs of a model of images or video. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/model/axis_sections.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/json_object.hpp"
#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Each half of a head rotates by one coordinate.
inline void read_two_axes(hugging_face_config& config, layer_description& kind, double base) {
  auto const half = kind.head_dim / 2;
  config.keys.require(kind.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::vector<std::size_t> sections(axis + 1, 0);
    sections[axis] = half / 2;
    kind.rotary.push_back({.rule = "default",
                           .frequencies = geometric(half, base),
                           .layout = halves(),
                           .block = rotary_block::from(axis * half),
                           .axes = contiguous_axes(sections)});
  }
}

/// Each axis has a series of frequencies of its own; halves are those of the whole block.
inline void read_axial(hugging_face_config& config, layer_description& kind, double base) {
  auto const count = config.family.axial_axes;
  std::vector<std::size_t> const dims(count, kind.head_dim / count / 2 * 2);
  config.keys.require(dims[0] > 0, "head_dim", "have room for a pair of each axis");
  kind.rotary.push_back({.rule = "axial",
                         .frequencies = axial(dims, base),
                         .layout = halves(),
                         .axes = axial_axes(dims)});
}

/// The axis of each pair by mrope_section or the family, if the model has M-RoPE.
inline std::optional<pair_axes> rope_axes(hugging_face_config& config, json_object const& rope,
                                          std::size_t pairs) {
  auto const& family = config.family;
  auto given = rope.numbers("mrope_section");
  if (!given) given = config.keys.numbers("mrope_section");
  if (!given) given = config.file.numbers("mrope_section");  // Ling VL
  auto const interleave = rope.flag("mrope_interleaved");
  if (config.keys.flag("use_mrope").value_or(false) && !given) {
    rope.refuse("mrope_section", "be given where use_mrope is true");
  }
  bool const is_video = rope.text("type") == "video_rope" || rope.text("rope_type") == "video_rope";
  if (!given && !family.has_axes && !is_video) return {};
  auto const where = rope.where() + ": mrope_section";
  std::vector<std::size_t> sections;
  if (given) {
    sections = axis_sections(where, *given);
  } else {
    auto const& [first, second, third] = family.sections;
    if (first == 0) rope.refuse("mrope_section", "be given for " + config.found.type);
    config.assumed("mrope_section", shown(first) + ", " + shown(second) + ", " + shown(third));
    sections = {first, second, third};
  }
  if ((is_video || family.order == axis_order::alternating) && !interleave.value_or(false)) {
    if (family.time_last && sections.size() == 3) {
      std::rotate(sections.begin(), sections.end() - 1, sections.end());
    }
    return alternating_axes_of(where, sections, pairs);
  }
  return axes_of(where, sections, pairs,
                 interleave.value_or(family.order == axis_order::interleaved));
}

}  // namespace detail
}  // namespace posenc
