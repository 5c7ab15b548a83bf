// Writes what a rotation's parameters say as rope_parameters: reading them again must give the
// same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "posenc/model/model_description.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace rope_writer {

using nlohmann::json;

/// The part for which int(head_dim * part), as transformers computes it, is `dims`.
inline double part_of(std::size_t head_dim, std::size_t dims) {
  auto const whole = static_cast<double>(head_dim), wanted = static_cast<double>(dims);
  auto part = wanted / whole;
  while (whole * part < wanted) part = std::nextafter(part, 1.0);
  return part;
}

/// Sections of M-RoPE, as rope_parameters has them: contiguous, interleaved or alternating.
inline void write_axes(json& object, posenc::pair_axes const& axes) {
  std::vector<std::size_t> sections(std::max<std::size_t>(axes.axes(), 3), 0);
  for (std::size_t i = 0; i < axes.pairs(); ++i) ++sections[axes.axis(i)];
  object["mrope_section"] = sections;
  if (axes == posenc::contiguous_axes(sections)) return;
  if (sections.size() == 3 && axes == posenc::interleaved_axes(sections)) {
    return void(object["mrope_interleaved"] = true);
  }
  object["rope_type"] = "video_rope";
}

inline json rope_parameters_json(
    posenc::rotary_description const& rotary, std::size_t head_dim,
    std::optional<posenc::position_temperature> const& temperature = {}) {
  auto object = json::object();
  for (auto const& [key, value] : rotary.parameters) object[key] = json::parse(value);
  auto const dims = rotary.frequencies.at(1).rotary_dim();
  if (dims != head_dim) object["partial_rotary_factor"] = part_of(head_dim, dims);
  if (rotary.axes) write_axes(object, *rotary.axes);
  if (temperature && temperature->offset == 0) {
    object["llama_4_scaling_beta"] = temperature->scale;
    object["original_max_position_embeddings"] = temperature->floor_scale;
  }
  return object;
}

}  // namespace rope_writer
