// How one kind of layers rotates queries and keys, by the keys of a config.json. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/image_rotation.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

class hugging_face_rotation : image_rotation {
 public:
  using image_rotation::image_rotation;

  /// `kind` has its name and head_dim already.
  void read() {
    auto const base = this->base();
    name_ = rope_type();
    bool const is_plain =
        name_ == "default" || (name_ == "axial" && (family_.axial_axes != 0 || family_.alternates));
    bool const may_be_scaled = !family_.unscaled && family_.axial_axes == 0;
    keys_.require(is_plain || may_be_scaled, keys_.has("rope_type") ? "rope_type" : "type",
                  "be default for " + config_.found.type);
    if (family_.axial_axes != 0) return read_axial(base);
    if (family_.alternates) return read_alternating(base);
    auto const partial = partial_rotary_factor();
    auto const dim = rotary_dim(partial);
    bool const are_two =
        !family_.two_axes_key.empty() && config_.flag(family_.two_axes_key).value_or(false);
    if (family_.two_axes || are_two) return read_two_axes(base);

    auto rotary = read_rule(dim, base, partial);
    note_versions_of(partial);
    rotary.axes = axes(dim / 2);
    if (is_interleaved()) rotary.layout = interleaved();
    rotary.opposite = family_.opposite;
    bool const has_dims_without_rope = config_.has("qk_nope_head_dim");
    if (family_.last_dims || has_dims_without_rope) rotary.block = rotary_block::last();
    kind_.rotary.push_back(std::move(rotary));
    read_temperature();
  }

 private:
  /// Old values as the current ones.
  std::string rope_type() const {
    auto const read = [](json_object const& o, std::string const& key) {
      auto text = o.text(key);
      if (text == "su") text = "longrope";
      // mrope's sections are axes, not frequencies; origin is InternLM's.
      if (text == "mrope" || text == "video_rope" || text == "origin") text = "default";
      return text;
    };
    return keys_.agreed({"rope_type", "type"}, read).value_or(ntk_factor_ ? "dynamic" : "default");
  }

  bool is_interleaved() const {
    if (auto const are_halves = config_.flag("rope_is_neox_style")) return !*are_halves;
    if (auto const given = config_.flag("rotary_emb_interleaved")) return *given;
    return config_.flag("rope_interleave").value_or(family_.interleaved);
  }

  double base() {
    if (layer_.base != 0) {
      auto const of_all = keys_.number("rope_theta");
      bool const agrees = !of_all || *of_all == layer_.base || !family_.full_are_nope;
      keys_.require(agrees, "rope_theta",
                    "be " + shown(layer_.base) + ", as in the list for each layer");
      return layer_.base;
    }
    if (auto const inside = base_in(keys_, {"rope_theta", "base"})) {
      auto const outside = is_nested_ ? std::nullopt : base_outside();
      if (outside && *outside != *inside)
        keys_.refuse("rope_theta", "agree with the one outside, which is " + shown(*outside));
      return *inside;
    }
    if (is_compressed_) {
      constexpr auto key = "compress_rope_theta";
      return config_.or_assumed(config_.above_one(key), key, 160'000.0);
    }
    if (slides_) {
      if (has_local_base_) {
        auto const local =
            base_in(config_, {"rope_local_base_freq", "swa_rope_theta", "local_rope_theta"});
        if (local) return *local;
      }
      if (family_.local_base != 0) {
        note_other("rope_local_base_freq", family_.other_local_base);
        return config_.assumed("rope_local_base_freq", family_.local_base);
      }
    }
    if (auto const given = base_outside()) return *given;
    if (!family_.base_object.empty()) {
      auto const object = config_.object(std::string(family_.base_object));
      if (auto const inside = object ? object->above_one("rope_theta") : std::nullopt)
        return *inside;
    }
    if (family_.base_is_ratio) {
      auto const ratio = config_.positive_or("rope_ratio", 1);
      config_.require(1e4 * ratio > 1, "rope_ratio", "leave a base, 10000 times it, above 1");
      return 1e4 * ratio;
    }
    note_other("rope_theta", family_.other_base);
    if (family_.base != 1e4) return config_.assumed("rope_theta", family_.base);
    config_.assume("rope_theta", 1e4,
                   "rope_theta is not given: 10000, the default of transformers.");
    return 1e4;
  }

  std::optional<double> partial_rotary_factor() {
    bool const may_be_zero = name_ == "proportional";
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
    if (auto const inside = in_range(keys_, "partial_rotary_factor")) return inside;
    auto const outside = [&] {
      return config_.agreed(
          {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction"}, in_range);
    };
    if (auto const given = is_nested_ ? std::nullopt : outside()) return given;
    bool const is_given_in_dims =
        config_.has("rotary_dim") || config_.has("qk_rope_head_dim") || family_.rotary_dim != 0;
    if (family_.partial == 1 || is_given_in_dims) return {};
    return config_.assumed("partial_rotary_factor", family_.partial);
  }

  /// transformers 4 read the part for every model, transformers 5 beside scaling rules alone.
  void note_versions_of(std::optional<double> partial) {
    bool const is_read = contains(words_of(family_.keys), "partial_rotary_factor") ||
                         family_.partial != 1 || family_.last_dims || name_ != "default";
    if (partial.value_or(1) == 1 || is_read || !config_.is_known) return;
    config_.note("transformers from 5.0 on rotates all dims of " + config_.found.type +
                 " where no rule scales, and ignores partial_rotary_factor; before, that part of a "
                 "head, as here.");
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
    if (family_.last_dims && family_.partial == 1)
      config_.refuse("qk_rope_head_dim", "be given for " + config_.found.type);
    if (family_.rotary_dim != 0 && !partial)
      return within_head(config_.assumed("rotary_dim", family_.rotary_dim), "head_dim");
    if (name_ == "proportional") return within_head(kind_.head_dim, "head_dim");  // p chooses pairs
    auto const dims = static_cast<double>(kind_.head_dim) * partial.value_or(1);
    return within_head(static_cast<std::size_t>(dims),
                       partial ? "partial_rotary_factor" : "head_dim");
  }

  /// In rope_parameters (Ministral 3, Mistral 4) or an object of its own (Mistral Large 3).
  void read_temperature() {
    auto const other = config_.object("llama_4_scaling");
    auto const& keys = other ? *other : keys_;
    auto const beta = keys.number(other ? "beta" : "llama_4_scaling_beta");
    if (!beta) return;
    auto const length =
        keys.needed(keys.count(original, most_tokens), original, "be given for the temperature");
    kind_.temperature = position_temperature{*beta, static_cast<double>(length), 0};
  }

  std::optional<double> base_outside() const {
    auto const key = std::string(family_.base_key);
    auto const given = key.empty() ? base_in(config_, {"rope_theta", "rotary_emb_base", "theta"})
                                   : config_.above_one(key);
    if (given || has_local_base_ || is_nested_) return given;
    auto const rope = config_.object("rope_parameters");  // whose scaling is of other layers
    return rope ? rope->above_one("rope_theta") : given;
  }
  /// The one of these keys that is given; throws if two are given and differ.
  static std::optional<double> base_in(json_object const& keys,
                                       std::initializer_list<char const*> names) {
    return keys.agreed(names, [](auto const& o, auto const& key) { return o.above_one(key); });
  }

  void note_other(std::string const& key, double value) {
    if (value == 0) return;
    config_.note("Another version of transformers takes " + shown(value) + " where " + key +
                 " is not given.");
  }

  /// The axis of each pair by mrope_section or the family, if the model has M-RoPE.
  std::optional<pair_axes> axes(std::size_t pairs) {
    constexpr auto key = "mrope_section";
    auto given = keys_.numbers(key);
    if (!given) given = config_.numbers(key);
    if (!given) given = config_.file.numbers(key);  // Ling VL
    auto const interleave = keys_.flag("mrope_interleaved");
    bool const is_needed = config_.flag("use_mrope").value_or(false);
    keys_.require(given || !is_needed, key, "be given where use_mrope is true");
    bool const is_video =
        keys_.text("type") == "video_rope" || keys_.text("rope_type") == "video_rope";
    if (!given && !family_.has_axes && !is_video) return {};
    auto const where = keys_.where() + ": " + key;
    std::vector<std::size_t> sections(family_.sections.begin(), family_.sections.end());
    if (given) {
      sections = axis_sections(where, *given);
    } else {
      keys_.require(sections[0] != 0, key, "be given for " + config_.found.type);
      config_.assumed(key,
                      shown(sections[0]) + ", " + shown(sections[1]) + ", " + shown(sections[2]));
    }
    if ((is_video || family_.order == axis_order::alternating) && !interleave.value_or(false)) {
      if (family_.time_last && sections.size() == 3)
        std::rotate(sections.begin(), sections.end() - 1, sections.end());
      return alternating_axes_of(where, sections, pairs);
    }
    return axes_of(where, sections, pairs,
                   interleave.value_or(family_.order == axis_order::interleaved));
  }
};

}}}  // namespace posenc::detail
