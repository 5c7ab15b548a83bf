// How one kind of layers rotates queries and keys, by the keys of a config.json. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/axis_sections.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/rope_parameters.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

class hugging_face_rotation {
 public:
  /// `type` is the type of the layers; `kind` has its head_dim already.
  hugging_face_rotation(hugging_face_config& config, std::string type, layer_description& kind)
      : config_(config),
        family_(config.family),
        type_(std::move(type)),
        kind_(kind),
        rope_(rope_keys()) {}

  void read() {
    auto const base = this->base();
    auto const partial = partial_rotary_factor();
    auto const dim = rotary_dim(partial);
    if (family_.two_axes) return read_two_axes(base);

    rope_inputs const inputs{.kind = kind_.name,
                             .head_dim = kind_.head_dim,
                             .rotary_dim = dim,
                             .base = base,
                             .partial_rotary_factor = partial,
                             .context = config_.found.context,
                             .original_context = config_.keys.count(original_length, most_tokens)};
    auto result = rope_rule(rope_, inputs, config_).read();
    read_mscale(result.mscale_factor);
    rotary_description rotary{.rule = std::move(result.rule),
                              .frequencies = std::move(result.frequencies),
                              .layout = halves(),
                              .axes = axes(dim / 2)};
    bool const is_interleaved = config_.keys.flag("rope_interleave").value_or(family_.interleaved);
    if (is_interleaved) rotary.layout = interleaved();
    bool const has_dims_without_rope = config_.keys.has("qk_nope_head_dim");
    if (family_.last_dims || has_dims_without_rope) rotary.block = rotary_block::last();
    kind_.rotary.push_back(std::move(rotary));
    read_temperature();
  }

 private:
  static constexpr auto original_length = "original_max_position_embeddings";

  bool slides() const { return type_ == sliding_attention; }
  bool is_compressed() const { return family_.compressed && !slides(); }

  /// rope_parameters or rope_scaling, of this type of layers where they are nested; an object
  /// without keys where they are for other types.
  json_object rope_keys() {
    auto const& keys = config_.keys;
    auto const parameters = keys.object("rope_parameters");
    auto const scaling = keys.object("rope_scaling");
    if (parameters && scaling && parameters->whole() != scaling->whole()) {
      keys.refuse("rope_scaling", "agree with rope_parameters");
    }
    auto const rope = parameters ? parameters : scaling;
    if (!rope && family_.needs_rope) {
      keys.refuse("rope_parameters", "be given for " + config_.found.type);
    }
    auto const is_object = [&](std::string const& key) { return rope->is_object(key); };
    if (rope && std::ranges::any_of(rope->keys(), is_object)) return nested_keys(*rope);

    bool const for_full_layers_only = keys.has("rope_local_base_freq") ||
                                      keys.has("swa_rope_theta") || family_.local_base != 0 ||
                                      family_.compressed;
    if (slides() && for_full_layers_only) return made(json::object(), rope);
    if (!is_compressed()) return rope ? *rope : made(json::object(), rope);
    auto copy = rope ? rope->whole() : json::object();
    // DeepSeek's own code has no attention factor.
    if (!copy.contains("attention_factor")) copy["attention_factor"] = 1.0;
    return made(std::move(copy), rope);
  }

  json_object nested_keys(json_object const& rope) {
    auto const name = !family_.compressed ? type_ : is_compressed() ? "compress" : "main";
    auto const inner = rope.object(name);
    if (!inner) rope.refuse(name, "be given for layers of " + type_);
    is_nested_ = true;
    return *inner;
  }

  /// Keys that stand in the place of those in the file.
  json_object made(json keys, std::optional<json_object> const& given) {
    made_ = std::move(keys);
    return given ? given->replaced(made_)
                 : json_object(made_, config_.keys.where() + ": rope_parameters");
  }

  double base() {
    if (auto const inside = rope_.number("rope_theta")) {
      auto const outside = config_.number({"rope_theta", "rotary_emb_base"});
      if (outside && *outside != *inside && !is_nested_) {
        rope_.refuse("rope_theta", "agree with the one outside, which is " + shown(*outside));
      }
      return *inside;
    }
    if (is_compressed()) return config_.number_or("compress_rope_theta", 160'000);
    if (slides()) {
      auto const local =
          config_.number({"rope_local_base_freq", "swa_rope_theta", "local_rope_theta"});
      if (local) return *local;
      if (family_.local_base != 0) {
        return config_.assumed("rope_local_base_freq", family_.local_base);
      }
    }
    auto const given = config_.number({"rope_theta", "rotary_emb_base", "global_rope_theta"});
    if (given) return *given;
    if (family_.base_is_ratio) return 1e4 * config_.number_or("rope_ratio", 1);
    if (family_.base != 1e4) return config_.assumed("rope_theta", family_.base);
    config_.assume("rope_theta", 1e4,
                   "rope_theta is not given: 10000, the default of transformers.");
    return 1e4;
  }

  std::optional<double> partial_rotary_factor() {
    bool const may_be_zero = rope_rule::name_in(rope_) == "proportional";
    auto const in_range = [&](json_object const& keys, std::string const& key) {
      auto const given = keys.number(key);
      bool const fits = !given || ((may_be_zero ? *given >= 0 : *given > 0) && *given <= 1);
      keys.require(fits, key, "be above 0 and at most 1");
      return given;
    };
    if (auto const inside = in_range(rope_, "partial_rotary_factor")) return inside;
    auto const outside = config_.keys.agreed({"partial_rotary_factor", "rotary_pct"}, in_range);
    if (outside) return outside;
    bool const is_given_in_dims = config_.keys.has("rotary_dim") ||
                                  config_.keys.has("qk_rope_head_dim") || family_.rotary_dim != 0;
    if (family_.partial == 1 || is_given_in_dims) return {};
    return config_.assumed("partial_rotary_factor", family_.partial);
  }

  std::size_t rotary_dim(std::optional<double> partial) {
    auto const within_head = [&](std::size_t dim, std::string const& key) {
      auto const got = key == "partial_rotary_factor" ? ", not " + shown(dim) : std::string();
      bool const fits = dim > 0 && dim % 2 == 0 && dim <= kind_.head_dim;
      config_.keys.require(
          fits, key,
          "give an even number of rotary dims within head_dim " + shown(kind_.head_dim) + got);
      return dim;
    };
    for (auto const* key : {"qk_rope_head_dim", "rotary_dim"}) {
      if (auto const dim = config_.keys.count(key, most_dims)) return within_head(*dim, key);
    }
    if (family_.last_dims && family_.partial == 1) {
      config_.keys.refuse("qk_rope_head_dim", "be given for " + config_.found.type);
    }
    if (family_.rotary_dim != 0 && !partial) {
      return within_head(config_.assumed("rotary_dim", family_.rotary_dim), "head_dim");
    }
    bool const is_whole = rope_rule::name_in(rope_) == "proportional";  // p chooses among all pairs
    if (is_whole) return within_head(kind_.head_dim, "head_dim");
    auto const dims = static_cast<double>(kind_.head_dim) * partial.value_or(1);
    return within_head(static_cast<std::size_t>(dims),
                       partial ? "partial_rotary_factor" : "head_dim");
  }

  void read_two_axes(double base) {
    auto const half = kind_.head_dim / 2;
    config_.keys.require(kind_.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
    for (std::size_t axis = 0; axis < 2; ++axis) {
      std::vector<std::size_t> sections(axis + 1, 0);
      sections[axis] = half / 2;
      kind_.rotary.push_back({.rule = "default",
                              .frequencies = geometric(half, base),
                              .layout = halves(),
                              .block = rotary_block::from(axis * half),
                              .axes = contiguous_axes(sections)});
    }
  }

  void read_mscale(double factor) {
    if (family_.mscale_on_scores) kind_.softmax_factor *= factor;
    if (factor == 1 || family_.mscale_note.empty()) return;
    config_.note("g(mscale_all_dim)^2 = " + shown(factor) +
                 " on scores: " + std::string(family_.mscale_note));
  }

  std::optional<pair_axes> axes(std::size_t pairs) {
    auto const given = rope_.numbers("mrope_section");
    auto const interleave = rope_.flag("mrope_interleaved").value_or(family_.interleaved_axes);
    if (!given && !family_.has_axes) return {};
    auto const where = rope_.where() + ": mrope_section";
    if (given) return axes_of(where, axis_sections(where, *given), pairs, interleave);

    auto const& [first, second, third] = family_.sections;
    if (first == 0) rope_.refuse("mrope_section", "be given for " + config_.found.type);
    config_.assumed("mrope_section", shown(first) + ", " + shown(second) + ", " + shown(third));
    return axes_of(where, {first, second, third}, pairs, interleave);
  }

  /// Ministral 3 and Mistral 4 have the temperature in rope_parameters, Mistral Large 3 in an
  /// object.
  void read_temperature() {
    auto const other = config_.keys.object("llama_4_scaling");
    auto const& keys = other ? *other : rope_;
    auto const beta = keys.number(other ? "beta" : "llama_4_scaling_beta");
    if (!beta) return;
    auto const original = keys.count(original_length, most_tokens);
    if (!original) keys.refuse(original_length, "be given for the temperature");
    kind_.temperature = position_temperature{*beta, static_cast<double>(*original), 0};
  }

  hugging_face_config& config_;
  model_family const& family_;
  std::string type_;
  layer_description& kind_;
  json made_ = {};
  bool is_nested_ = false;
  json_object rope_;
};

}  // namespace detail
}  // namespace posenc
