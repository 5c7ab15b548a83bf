// Which keys of a config.json are the rope_parameters of a type of layers. (nlohmann-json)
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// rope_parameters or rope_scaling, of this type of layers where they are nested; an object without
/// keys where they are for other types. The keys may be its own, so it is not copied.
class rope_source {
 public:
  rope_source(hugging_face_config& config, std::string const& type)
      : is_compressed(config.family.compressed && type != sliding_attention),
        has_local_base(config.is_known ? config.family.local_base != 0
                                       : config.keys.has("rope_local_base_freq") ||
                                             config.keys.has("swa_rope_theta")),
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
    auto const& file = config.keys;
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
                 : json_object(made_, config.keys.where() + ": rope_parameters");
  }
};

}  // namespace detail
}  // namespace posenc
