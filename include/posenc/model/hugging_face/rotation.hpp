// How one kind of layers rotates queries and keys, by the keys of a config.json. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/config.hpp"
#include "posenc/model/hugging_face/rope_parameters.hpp"
#include "posenc/model/hugging_face/rope_source.hpp"
#include "posenc/model/layer_schedule.hpp"

namespace posenc::inline POSENC_TARGET::detail {

class hugging_face_rotation {
 public:
  /// `kind` has its head_dim already.
  hugging_face_rotation(hugging_face_config& config, scheduled_layer const& layer,
                        layer_description& kind)
      : config_(config),
        family_(config.family),
        layer_(layer),
        kind_(kind),
        source_(config, layer.type),
        rope_(source_.keys) {}

  void read() {
    auto const base = this->base();
    auto const name = rope_type_in(rope_);
    bool const is_plain = name == "default" || (name == "axial" && family_.axial_axes != 0);
    bool const may_be_scaled = !family_.unscaled && family_.axial_axes == 0;
    rope_.require(is_plain || may_be_scaled, rope_.has("rope_type") ? "rope_type" : "type",
                  "be default for " + config_.found.type);
    if (family_.axial_axes != 0) return read_axial(config_, kind_, base);
    auto const partial = partial_rotary_factor();
    auto const dim = rotary_dim(partial);
    bool const are_two = !family_.two_axes_key.empty() &&
                         config_.flag(std::string(family_.two_axes_key)).value_or(false);
    if (family_.two_axes || are_two) return read_two_axes(config_, kind_, base);

    rope_rule rule(config_, kind_, rope_);
    auto rotary = rule.read(dim, base, partial);
    read_mscale(rule.mscale_factor);
    rotary.axes = rope_axes(config_, rope_, dim / 2);
    if (is_interleaved()) rotary.layout = interleaved();
    bool const has_dims_without_rope = config_.has("qk_nope_head_dim");
    if (family_.last_dims || has_dims_without_rope) rotary.block = rotary_block::last();
    kind_.rotary.push_back(std::move(rotary));
    read_temperature();
  }

 private:
  static constexpr auto original_length = "original_max_position_embeddings";

  bool is_interleaved() const {
    if (auto const are_halves = config_.flag("rope_is_neox_style")) return !*are_halves;
    if (auto const given = config_.flag("rotary_emb_interleaved")) return *given;
    return config_.flag("rope_interleave").value_or(family_.interleaved);
  }
  bool slides() const { return layer_.type == sliding_attention; }

  double base() {
    if (layer_.base != 0) {
      auto const of_all = rope_.number("rope_theta");
      bool const agrees = !of_all || *of_all == layer_.base || !family_.full_are_nope;
      rope_.require(agrees, "rope_theta",
                    "be " + shown(layer_.base) + ", as in the list for each layer");
      return layer_.base;
    }
    if (auto const inside = rope_.agreed({"rope_theta", "base"}, number_of)) {
      auto const outside = base_outside();
      if (outside && *outside != *inside && !source_.is_nested) {
        rope_.refuse("rope_theta", "agree with the one outside, which is " + shown(*outside));
      }
      return *inside;
    }
    if (source_.is_compressed) return config_.number_or("compress_rope_theta", 160'000);
    if (slides()) {
      auto const get = [&] {
        return config_.number({"rope_local_base_freq", "swa_rope_theta", "local_rope_theta"});
      };
      if (auto const local = source_.has_local_base ? get() : std::nullopt) return *local;
      if (family_.local_base != 0) {
        note_other("rope_local_base_freq", family_.other_local_base);
        return config_.assumed("rope_local_base_freq", family_.local_base);
      }
    }
    if (auto const given = base_outside()) return *given;
    if (!family_.base_object.empty()) {
      auto const object = config_.object(std::string(family_.base_object));
      if (auto const inside = object ? object->number("rope_theta") : std::nullopt) return *inside;
    }
    if (family_.base_is_ratio) return 1e4 * config_.number_or("rope_ratio", 1);
    note_other("rope_theta", family_.other_base);
    if (family_.base != 1e4) return config_.assumed("rope_theta", family_.base);
    config_.assume("rope_theta", 1e4,
                   "rope_theta is not given: 10000, the default of transformers.");
    return 1e4;
  }

  std::optional<double> partial_rotary_factor() {
    bool const may_be_zero = rope_type_in(rope_) == "proportional";
    auto const in_range = [&](json_object const& keys, std::string const& key) {
      auto const given = keys.number(key);
      bool const fits = !given || ((may_be_zero ? *given >= 0 : *given > 0) && *given <= 1);
      keys.require(fits, key, "be above 0 and at most 1");
      return given;
    };
    if (layer_.partial != 0) {
      config_.require(layer_.partial > 0 && layer_.partial <= 1, "partial_rotary_factors",
                      "be above 0 and at most 1");
      return layer_.partial;
    }
    if (auto const inside = in_range(rope_, "partial_rotary_factor")) return inside;
    auto const outside = config_.agreed(
        {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction"}, in_range);
    if (outside) return outside;
    bool const is_given_in_dims =
        config_.has("rotary_dim") || config_.has("qk_rope_head_dim") || family_.rotary_dim != 0;
    if (family_.partial == 1 || is_given_in_dims) return {};
    return config_.assumed("partial_rotary_factor", family_.partial);
  }

  std::size_t rotary_dim(std::optional<double> partial) {
    auto const within_head = [&](std::size_t dim, std::string const& key) {
      auto const got = key == "partial_rotary_factor" ? ", not " + shown(dim) : std::string();
      bool const fits = dim > 0 && dim % 2 == 0 && dim <= kind_.head_dim;
      config_.require(
          fits, key,
          "give an even number of rotary dims within head_dim " + shown(kind_.head_dim) + got);
      return dim;
    };
    for (auto const* key : {"qk_rope_head_dim", "rotary_dim", "attn_rotary_emb"}) {
      auto const dim = config_.count(key, most_dims);
      if (!dim) continue;
      // The class of latent attention takes the part of what rotates or of the whole head.
      auto const of_head = static_cast<double>(kind_.head_dim) * partial.value_or(1);
      bool const agrees = !partial || *partial == 1 || family_.ignores_partial ||
                          static_cast<std::size_t>(of_head) == *dim;
      config_.require(agrees, key, "agree with partial_rotary_factor");
      return within_head(*dim, key);
    }
    if (family_.last_dims && family_.partial == 1) {
      config_.refuse("qk_rope_head_dim", "be given for " + config_.found.type);
    }
    if (family_.rotary_dim != 0 && !partial) {
      return within_head(config_.assumed("rotary_dim", family_.rotary_dim), "head_dim");
    }
    bool const is_whole = rope_type_in(rope_) == "proportional";  // p chooses among all pairs
    if (is_whole) return within_head(kind_.head_dim, "head_dim");
    auto const dims = static_cast<double>(kind_.head_dim) * partial.value_or(1);
    return within_head(static_cast<std::size_t>(dims),
                       partial ? "partial_rotary_factor" : "head_dim");
  }

  void read_mscale(double factor) {
    if (family_.mscale_on_scores) kind_.softmax_factor *= factor;
    if (factor == 1 || family_.mscale_note.empty()) return;
    config_.note("g(mscale_all_dim)^2 = " + shown(factor) +
                 " on scores: " + std::string(family_.mscale_note));
  }

  /// Ministral 3 and Mistral 4 have the temperature in rope_parameters, Mistral Large 3 in an
  /// object.
  void read_temperature() {
    auto const other = config_.object("llama_4_scaling");
    auto const& keys = other ? *other : rope_;
    auto const beta = keys.number(other ? "beta" : "llama_4_scaling_beta");
    if (!beta) return;
    auto const original = keys.count(original_length, most_tokens);
    if (!original) keys.refuse(original_length, "be given for the temperature");
    kind_.temperature = position_temperature{*beta, static_cast<double>(*original), 0};
  }

  std::optional<double> base_outside() const {
    auto const key = std::string(family_.base_key);
    return key.empty() ? config_.number({"rope_theta", "rotary_emb_base", "theta"})
                       : config_.number(key);
  }

  void note_other(std::string const& key, double value) {
    if (value == 0) return;
    config_.note("Another version of transformers takes " + shown(value) + " where " + key +
                 " is not given.");
  }

  static std::optional<double> number_of(json_object const& keys, std::string const& key) {
    return keys.number(key);
  }

  hugging_face_config& config_;
  model_family const& family_;
  scheduled_layer const& layer_;
  layer_description& kind_;
  rope_source source_;
  json_object rope_;
};

}  // namespace posenc::detail
