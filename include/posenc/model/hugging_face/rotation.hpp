// How one kind of layers rotates, by the keys of a config.json. (nlohmann-json)
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
  /// Of the layers of that type, whose kind is being read.
  hugging_face_rotation(hugging_face_config& config, std::string type, layer_encoding& kind)
      : config_(config), type_(std::move(type)), kind_(kind), rope_(keys_of_type()) {}

  void read() {
    auto const base = this->base();
    auto const partial = partial_rotary_factor();
    auto const dim = rotary_dim(partial);
    if (config_.family.two_axes) return read_two_axes(base);

    auto const original = config_.keys.count("original_max_position_embeddings", most_tokens);
    auto rules = rope_rules(rope_,
                            {.kind = kind_.name,
                             .head_dim = kind_.head_dim,
                             .rotary_dim = dim,
                             .base = base,
                             .partial_rotary_factor = partial,
                             .context = config_.found.context,
                             .original_context = original},
                            config_)
                     .read();
    if (config_.family.mscale_on_scores) kind_.softmax_factor *= rules.mscale_factor;
    auto const note = std::string(config_.family.mscale_note);
    if (!note.empty() && rules.mscale_factor != 1) {
      config_.note("g(mscale_all_dim)^2 = " + shown(rules.mscale_factor) + " on scores: " + note);
    }

    rotary_encoding rotary{.rule = std::move(rules.rule),
                           .frequencies = std::move(rules.frequencies),
                           .layout = halves()};
    if (config_.keys.flag("rope_interleave").value_or(config_.family.interleaved))
      rotary.layout = interleaved();
    if (config_.family.last_dims || has_dims_without_rope()) rotary.block = rotary_block::last();
    rotary.axes = axes(dim / 2);
    kind_.rotary.push_back(std::move(rotary));
    read_temperature();
    for (auto const& key : rope_.unread()) {
      if (key != "max_position_embeddings")
        config_.note(rope_.where() + " has " + key + ", which is not read.");
    }
  }

 private:
  bool is_sliding() const { return type_ == sliding_attention; }
  bool is_compressed() const { return config_.family.compressed && !is_sliding(); }
  bool has_dims_without_rope() const { return config_.keys.has("qk_nope_head_dim"); }

  // rope_parameters, or rope_scaling, which may be nested by type of layer; no keys where it is not
  // for this type.
  json_object keys_of_type() {
    auto const parameters = config_.keys.object("rope_parameters"),
               scaling = config_.keys.object("rope_scaling");
    if (parameters && scaling && parameters->whole() != scaling->whole()) {
      config_.keys.refuse("rope_scaling",
                          "not stand beside a rope_parameters that says something else");
    }
    auto const rope = parameters ? parameters : scaling;
    if (!rope && config_.family.needs_rope)
      config_.keys.refuse("rope_parameters", "be given for " + config_.found.type);
    if (rope && std::ranges::any_of(rope->keys(),
                                    [&](std::string const& key) { return rope->is_object(key); })) {
      auto const label = !config_.family.compressed ? type_ : is_compressed() ? "compress" : "main";
      auto const inner = rope->object(label);
      if (!inner) rope->refuse(label, "be given, for layers of " + type_);
      is_nested_ = true;
      for (auto const& key : rope->keys()) {
        if (!rope->is_object(key))
          config_.note(rope->where() + ": " + key +
                       " stands beside nested parameters and is not read.");
      }
      return *inner;
    }
    bool const for_full_layers_only = config_.keys.has("rope_local_base_freq") ||
                                      config_.keys.has("swa_rope_theta") ||
                                      config_.family.local_base != 0 || config_.family.compressed;
    if (is_sliding() && for_full_layers_only) return made(json::object());
    if (!is_compressed()) return rope ? *rope : made(json::object());
    auto keys = rope ? rope->whole() : json::object();
    if (!keys.contains("attention_factor"))
      keys["attention_factor"] = 1.0;  // DeepSeek's own code has none
    return made(std::move(keys));
  }
  json_object made(json keys) {
    made_ = std::move(keys);
    return {made_, config_.keys.where() + ": rope_parameters"};
  }

  double base() {
    auto const inside = rope_.number("rope_theta");
    if (inside) {
      if (auto const beside = config_.number({"rope_theta", "rotary_emb_base"});
          beside && *beside != *inside && !is_nested_) {
        rope_.refuse("rope_theta", "agree with the one beside it, which is " + shown(*beside));
      }
      return *inside;
    }
    if (is_compressed()) return given_or("compress_rope_theta", 160000);
    if (is_sliding()) {
      if (auto const local =
              config_.number({"rope_local_base_freq", "swa_rope_theta", "local_rope_theta"}))
        return *local;
      auto const known = config_.family.local_base;
      if (known != 0) return config_.assumed("rope_local_base_freq", known);
    }
    if (auto const given = config_.number({"rope_theta", "rotary_emb_base", "global_rope_theta"}))
      return *given;
    if (config_.family.base_is_ratio) return 1e4 * given_or("rope_ratio", 1);
    if (config_.family.base != 1e4) return config_.assumed("rope_theta", config_.family.base);
    config_.assume(
        "rope_theta is not given: 10000, as transformers has it where a model's class says nothing "
        "else.");
    return 1e4;
  }
  double given_or(std::string const& key, double value) {
    auto const given = config_.keys.number(key);
    return given ? *given : config_.assumed(key, value);
  }

  std::optional<double> partial_rotary_factor() {
    auto const in_range = [&](json_object const& keys, std::string const& key) {
      auto const given = keys.number(key);
      bool const may_be_zero = rope_rules::rule_of(rope_) == "proportional";
      if (given)
        keys.require((may_be_zero ? *given >= 0 : *given > 0) && *given <= 1, key,
                     "be above 0 and at most 1");
      return given;
    };
    if (auto const inside = in_range(rope_, "partial_rotary_factor")) return inside;
    if (auto const beside = config_.keys.agreed({"partial_rotary_factor", "rotary_pct"}, in_range))
      return beside;
    bool const is_said_otherwise = config_.keys.has("rotary_dim") ||
                                   config_.keys.has("qk_rope_head_dim") ||
                                   config_.family.rotary_dim != 0;
    if (config_.family.partial == 1 || is_said_otherwise) return {};
    return config_.assumed("partial_rotary_factor", config_.family.partial);
  }

  std::size_t rotary_dim(std::optional<double> partial) {
    auto const within_head = [&](std::size_t dim, std::string const& key) {
      config_.keys.require(
          dim > 0 && dim % 2 == 0 && dim <= kind_.head_dim, key,
          "give an even number of rotated dims within head_dim " + shown(kind_.head_dim) +
              (key == "partial_rotary_factor" ? ", not " + shown(dim) : std::string()));
      return dim;
    };
    for (auto const* key : {"qk_rope_head_dim", "rotary_dim"}) {
      if (auto const dim = config_.keys.count(key, most_dims)) return within_head(*dim, key);
    }
    if (config_.family.last_dims && config_.family.partial == 1) {
      config_.keys.refuse("qk_rope_head_dim", "be given for " + config_.found.type);
    }
    if (config_.family.rotary_dim != 0 && !partial)
      return within_head(config_.assumed("rotary_dim", config_.family.rotary_dim), "head_dim");
    if (rope_rules::rule_of(rope_) == "proportional")
      return within_head(kind_.head_dim, "head_dim");
    return within_head(
        static_cast<std::size_t>(static_cast<double>(kind_.head_dim) * partial.value_or(1)),
        partial ? "partial_rotary_factor" : "head_dim");
  }

  // A head of Gemma 4's vision model: each half turns by one coordinate of its patch.
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

  std::optional<pair_axes> axes(std::size_t pairs) {
    auto const given = rope_.numbers("mrope_section");
    auto const interleave = rope_.flag("mrope_interleaved");
    auto const& family = config_.family;
    if (!given && !family.has_axes) return {};
    if (!given && family.sections[0] == 0)
      rope_.refuse("mrope_section", "be given for " + config_.found.type);
    auto const where = rope_.where() + ": mrope_section";
    auto const& known = family.sections;
    if (!given)
      config_.assumed("mrope_section",
                      shown(known[0]) + ", " + shown(known[1]) + ", " + shown(known[2]));
    auto const sections =
        given ? axis_sections(where, *given) : std::vector<std::size_t>(known.begin(), known.end());
    return axes_of(where, sections, pairs, interleave.value_or(family.interleaved_axes));
  }

  // Ministral 3 and Mistral 4; Mistral Large 3 has an object of its own for it.
  void read_temperature() {
    auto const other = config_.keys.object("llama_4_scaling");
    auto const& keys = other ? *other : rope_;
    auto const beta = keys.number(other ? "beta" : "llama_4_scaling_beta");
    if (!beta) return;
    auto const original = keys.count("original_max_position_embeddings", most_tokens);
    if (!original) keys.refuse("original_max_position_embeddings", "be given for the temperature");
    kind_.temperature = position_temperature{*beta, static_cast<double>(*original), 0};
  }

  hugging_face_config& config_;
  std::string type_;
  layer_encoding& kind_;
  json made_ = {};
  bool is_nested_ = false;
  json_object rope_;
};

}  // namespace detail
}  // namespace posenc
