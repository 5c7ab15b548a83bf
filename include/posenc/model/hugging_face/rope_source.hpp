// Which keys of a config.json are the rope_parameters of a type of layers, and the axes of its
// pairs. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/layer_schedule.hpp"
#include "posenc/model/rope_rule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Each half of a head rotates by one coordinate.
inline void read_two_axes(hugging_face_config& config, layer_description& kind, double base) {
  auto const half = kind.head_dim / 2;
  config.require(kind.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
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
  config.require(dims[0] > 0, "head_dim", "have room for a pair of each axis");
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
  if (!given) given = config.numbers("mrope_section");
  if (!given) given = config.file.numbers("mrope_section");  // Ling VL
  auto const interleave = rope.flag("mrope_interleaved");
  if (config.flag("use_mrope").value_or(false) && !given) {
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

/// rope_parameters or rope_scaling, of this type of layers where they are nested; an object without
/// keys where they are for other types. The keys may be its own, so it is not copied.
class rope_source {
 public:
  rope_source(hugging_face_config& config, std::string const& type)
      : is_compressed(config.family.compressed && type != sliding_attention),
        has_local_base(config.is_known
                           ? config.family.local_base != 0
                           : config.has("rope_local_base_freq") || config.has("swa_rope_theta")),
        keys(chosen(config, type)) {}
  rope_source(rope_source const&) = delete;
  rope_source& operator=(rope_source const&) = delete;

 private:
  json made_ = {};

 public:
  bool is_compressed;   ///< keys are those of compressed keys (DeepSeek-V4)
  bool has_local_base;  ///< sliding layers have a base of their own
  bool is_nested = false;
  json_object keys;

 private:
  json_object chosen(hugging_face_config& config, std::string const& type) {
    auto const& family = config.family;
    json_object const& file = config;
    auto const parameters = file.object("rope_parameters");
    auto const scaling = file.object("rope_scaling");
    if (parameters && scaling && parameters->whole() != scaling->whole()) {
      file.refuse("rope_scaling", "agree with rope_parameters");
    }
    auto const older = file.is_object("rotary") ? file.object("rotary") : std::nullopt;  // InternLM
    auto const rope = parameters ? parameters : scaling ? scaling : older;
    if (!rope && family.needs_rope) {
      file.refuse("rope_parameters", "be given for " + config.found.type);
    }
    auto const is_object = [&](std::string const& key) { return rope->is_object(key); };
    if (rope && std::ranges::any_of(rope->keys(), is_object)) return nested(config, *rope, type);
    if (rope && family.needs_nested_rope) {
      file.refuse(parameters ? "rope_parameters" : "rope_scaling",
                  "have an object for each type of layers of " + config.found.type);
    }
    if (auto const types = file.texts("yarn_only_types")) {  // Step
      bool const is_full = types->size() == 1 && types->front() == full_attention;
      file.require(is_full && family.scaled_if_full, "yarn_only_types", "be full_attention alone");
    }
    bool const for_full_layers_only =
        (has_local_base && !family.local_scaled) || family.scaled_if_full || family.compressed;
    bool const is_for_others = type == sliding_attention && for_full_layers_only;
    if (is_for_others) return made(config, json::object(), rope);
    if (!is_compressed) return rope ? *rope : made(config, json::object(), rope);
    auto copy = rope ? rope->whole() : json::object();
    // DeepSeek's own code has no attention factor.
    if (!copy.contains("attention_factor")) copy["attention_factor"] = 1.0;
    return made(config, std::move(copy), rope);
  }

  json_object nested(hugging_face_config& config, json_object const& rope,
                     std::string const& type) {
    auto const name = !config.family.compressed ? type : is_compressed ? "compress" : "main";
    auto const inner = rope.object(name);
    if (!inner) rope.refuse(name, "be given for layers of " + type);
    is_nested = true;
    return *inner;
  }

  /// Keys that stand in the place of those in the file.
  json_object made(hugging_face_config& config, json object,
                   std::optional<json_object> const& given) {
    made_ = std::move(object);
    return given ? given->replaced(made_)
                 : json_object(made_, config.where() + ": rope_parameters");
  }
};

}  // namespace posenc::detail
