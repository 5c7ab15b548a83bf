// How one kind of layers rotates, as a config.json says. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/model/detail/rope_rule.hpp"
#include "posenc/model/hugging_face/detail/config.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The keys of rope_parameters or rope_scaling for a type of layers.
struct rope_keys {
  json_object keys;  ///< without any if the file has none for these layers
  bool is_nested;    ///< there is an object for each type of layers
};

inline rope_keys rope_keys_of(hugging_face_config const& config, std::string const& type,
                              bool is_compressed, bool has_local_base) {
  auto const& family = config.family;
  bool const slides = type == sliding_attention;
  auto const newer = config.keys.object("rope_parameters"),
             scaling = config.keys.object("rope_scaling");
  bool const agree = !newer || !scaling || newer->whole() == scaling->whole();
  config.keys.require(agree, "rope_scaling", "agree with rope_parameters");
  auto rope = newer ? newer : scaling;
  if (!rope && config.keys.is_object("rotary")) rope = config.keys.object("rotary");  // InternLM
  config.keys.require(rope || !(family.needs_rope || family.needs_nested_rope), "rope_parameters",
                      "be given for " + config.found.type);
  bool const is_nested =
      rope && std::ranges::any_of(rope->whole(), [](auto& x) { return x.is_object(); });
  if (is_nested) {
    bool const fits =
        !config.is_known || family.compressed || !config.keys.is_hidden("layer_types");
    config.keys.require(fits, newer ? "rope_parameters" : "rope_scaling",
                        "be one object for all layers of " + config.found.type);
    auto const name = !family.compressed ? type : is_compressed ? "compress" : "main";
    for (auto const* both : {"main", "compress"})  // else transformers ignores what there is
      rope->require(!family.compressed || rope->is_object(both), both,
                    "be given where rope_parameters has an object of its kind");
    return {rope->needed(rope->object(name), name, "be given for layers of " + type), true};
  }
  bool const is_of_types = family.needs_nested_rope || (newer && family.local_base != 0);
  config.keys.require(!rope || !is_of_types, newer ? "rope_parameters" : "rope_scaling",
                      "have an object for each type of layers of " + config.found.type);
  if (auto const types = config.keys.texts("yarn_only_types"))  // Step
    config.keys.require(*types == layer_types{"full_attention"} && family.scaled_if_full,
                        "yarn_only_types", "be full_attention alone");
  if (!rope)
    return {json_object(config.keys.whole(), config.keys.where() + ": rope_parameters").emptied(),
            false};
  bool const for_full_layers_only =
      (has_local_base && !family.local_scaled) || family.scaled_if_full || family.compressed;
  return {slides && for_full_layers_only ? rope->emptied() : *rope, false};
}

/// The rotation of one kind of layers, which has its name and head_dim already.
class hugging_face_rotation {
 public:
  hugging_face_rotation(hugging_face_config& config, scheduled_layer const& layer,
                        layer_description& kind)
      : config_(config), layer_(layer), kind_(kind) {}

  void read() {
    auto const base = this->base();
    name_ = rope_type();
    bool const is_plain =
        name_ == "default" ||
        (name_ == "axial" && (family_.axial_axes != 0 || family_.two_axes || family_.alternates));
    bool const may_be_scaled = !family_.unscaled && !family_.two_axes && family_.axial_axes == 0;
    keys_.require(is_plain || may_be_scaled, keys_.has("rope_type") ? "rope_type" : "type",
                  "be default for " + config_.found.type);
    if (family_.axial_axes != 0) return read_axial(base);
    if (family_.alternates) return read_alternating(base);
    auto const partial = partial_rotary_factor();
    auto const dim = rotary_dim(partial);
    bool const are_two =
        !family_.two_axes_key.empty() && config_.keys.flag(family_.two_axes_key).value_or(false);
    if (family_.two_axes || are_two) return read_two_axes(base);

    auto rotary = read_rule(dim, base, partial);
    note_versions_of(partial);
    rotary.axes = axes(dim / 2);
    if (is_interleaved()) rotary.layout = interleaved();
    rotary.opposite = family_.opposite;
    bool const has_dims_without_rope = config_.keys.has("qk_nope_head_dim");
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
    if (auto const are_halves = config_.keys.flag("rope_is_neox_style")) return !*are_halves;
    if (auto const given = config_.keys.flag("rotary_emb_interleaved")) return *given;
    return config_.keys.flag("rope_interleave").value_or(family_.interleaved);
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
      return config_.or_assumed(config_.keys.above_one(key), key, 160'000.0);
    }
    if (slides_) {
      if (has_local_base_) {
        auto const local =
            base_in(config_.keys, {"rope_local_base_freq", "swa_rope_theta", "local_rope_theta"});
        if (local) return *local;
      }
      if (family_.local_base != 0) {
        note_other("rope_local_base_freq", family_.other_local_base);
        return config_.assumed("rope_local_base_freq", family_.local_base);
      }
    }
    if (auto const given = base_outside()) return *given;
    if (!family_.base_object.empty()) {
      auto const object = config_.keys.object(std::string(family_.base_object));
      if (auto const inside = object ? object->above_one("rope_theta") : std::nullopt)
        return *inside;
    }
    if (family_.base_is_ratio) {
      auto const ratio = config_.positive_or("rope_ratio", 1);
      config_.keys.require(1e4 * ratio > 1, "rope_ratio", "leave a base, 10000 times it, above 1");
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
      config_.keys.require(layer_.partial > 0 && layer_.partial <= 1, "partial_rotary_factors",
                           "be above 0 and at most 1");
      return layer_.partial;
    }
    if (auto const inside = in_range(keys_, "partial_rotary_factor")) return inside;
    auto const outside = [&] {
      return config_.keys.agreed(
          {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction"}, in_range);
    };
    if (auto const given = is_nested_ ? std::nullopt : outside()) return given;
    bool const is_given_in_dims = config_.keys.has("rotary_dim") ||
                                  config_.keys.has("qk_rope_head_dim") || family_.rotary_dim != 0;
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
      config_.keys.require(
          fits, key,
          "give an even number of rotary dims within head_dim " + shown(kind_.head_dim) + got);
      return dim;
    };
    if (layer_.rotary_dim != 0) return within_head(layer_.rotary_dim, "qk_rope_head_dim");
    for (auto const* key : {"qk_rope_head_dim", "rotary_dim", "attn_rotary_emb"}) {
      auto const dim = config_.keys.count(key, most_dims);
      if (!dim) continue;
      // The class of latent attention takes the part of what rotates or of the whole head.
      auto const of_head = static_cast<double>(kind_.head_dim) * partial.value_or(1);
      bool const agrees = !partial || *partial == 1 || family_.ignores_partial ||
                          static_cast<std::size_t>(of_head) == *dim;
      config_.keys.require(agrees, key, "agree with partial_rotary_factor");
      return within_head(*dim, key);
    }
    if (family_.last_dims && family_.partial == 1)
      config_.keys.refuse("qk_rope_head_dim", "be given for " + config_.found.type);
    if (family_.rotary_dim != 0 && !partial)
      return within_head(config_.assumed("rotary_dim", family_.rotary_dim), "head_dim");
    if (name_ == "proportional") return within_head(kind_.head_dim, "head_dim");  // p chooses pairs
    auto const dims = static_cast<double>(kind_.head_dim) * partial.value_or(1);
    return within_head(static_cast<std::size_t>(dims),
                       partial ? "partial_rotary_factor" : "head_dim");
  }

  /// In rope_parameters (Ministral 3, Mistral 4) or in a separate object (Mistral Large 3).
  void read_temperature() {
    auto const other = config_.keys.object("llama_4_scaling");
    auto const& keys = other ? *other : keys_;
    auto const beta = keys.number(other ? "beta" : "llama_4_scaling_beta");
    if (!beta) return;
    auto const length =
        keys.needed(keys.count(original, most_tokens), original, "be given for the temperature");
    kind_.temperature = position_temperature{*beta, static_cast<double>(length), 0};
  }

  std::optional<double> base_outside() const {
    auto const key = std::string(family_.base_key);
    auto const given = key.empty()
                           ? base_in(config_.keys, {"rope_theta", "rotary_emb_base", "theta"})
                           : config_.keys.above_one(key);
    if (given || has_local_base_ || is_nested_) return given;
    auto const rope = config_.keys.object("rope_parameters");  // whose scaling is of other layers
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
    if (!given) given = config_.keys.numbers(key);
    if (!given) given = config_.file.numbers(key);  // Ling VL
    auto const interleave = keys_.flag("mrope_interleaved");
    bool const is_needed = config_.keys.flag("use_mrope").value_or(false);
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

  // Heads of images rotate by the coordinates of their patch. Pairs are halves, each of one axis.

  /// Each half of a head rotates by one coordinate.
  void read_two_axes(double base) {
    auto const half = kind_.head_dim / 2;
    config_.keys.require(kind_.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
    add("default", geometric(half, base), {half / 2});
    add("default", geometric(half, base), {0, half / 2}, half);
  }

  /// Each axis has a separate series of frequencies; halves are halves of the whole block.
  void read_axial(double base) {
    auto const count = family_.axial_axes;
    std::vector<std::size_t> const dims(count, kind_.head_dim / count / 2 * 2);
    config_.keys.require(dims[0] > 0, "head_dim", "have room for a pair of each axis");
    add("axial", axial(dims, base), std::vector(count, dims[0] / 2));
  }

  /// One series across both axes: rows take its even frequencies, then columns the odd ones.
  void read_alternating(double base) {
    auto const pairs = kind_.head_dim / 2;
    config_.keys.require(kind_.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
    auto const series = geometric(kind_.head_dim, base);
    std::vector<double> inv_freq, rest;
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const from = 2 * i % pairs + 2 * i / pairs;
      inv_freq.push_back(series.inv_freq()[from]);
      rest.push_back(series.rest()[from]);
    }
    add("alternating", {std::move(inv_freq), std::move(rest), 1}, {pairs / 2, pairs / 2});
  }

  void add(std::string rule, frequencies f, std::vector<std::size_t> const& sections,
           std::size_t first_dim = 0) {
    kind_.rotary.push_back({.rule = std::move(rule),
                            .frequencies = std::move(f),
                            .layout = halves(),
                            .block = rotary_block::from(first_dim),
                            .axes = contiguous_axes(sections)});
  }

  // The rule of frequencies.

  /// The rotation, but for layout, block and axes. `partial` is p of the proportional rule.
  rotary_description read_rule(std::size_t rotary_dim, double base, std::optional<double> partial) {
    // Phi 3's first files say yarn.
    bool const is_longrope =
        name_ == "yarn" && keys_.has("short_factor") && keys_.has("long_factor");
    if (is_longrope) name_ = "longrope";
    error_context const context(keys_.where());
    record_.used("rope_type", json(name_).dump());
    record_.used("rope_theta", base);
    auto f = frequencies_of(rotary_dim, base, partial);
    if (family_.mscale_on_scores && name_ != "default" && name_ != "yarn") {
      yarn_scaling scaling{.factor = keys_.number("factor").value_or(1), .original_length = 1};
      scaling.mscale_all_dim = optional("mscale_all_dim");
      scale_scores(scaling);
    }
    return {.rule = name_,
            .frequencies = std::move(f),
            .layout = halves(),
            .parameters = std::move(record_.parameters)};
  }

  frequencies_by_length frequencies_of(std::size_t rotary_dim, double base,
                                       std::optional<double> partial) {
    if (name_ == "proportional") {
      auto const p = record_.used("partial_rotary_factor", partial.value_or(1));
      auto const factor = record_.used("factor", keys_.number("factor").value_or(1));
      return proportional(kind_.head_dim, base, p, factor);
    }
    auto const plain = geometric(rotary_dim, base);
    if (name_ == "default") {
      keys_.require(keys_.number("factor").value_or(1) == 1, "factor",
                    "not be given without a rope_type that takes it");
      return plain;
    }
    if (name_ == "linear") return linear(plain, needed("factor"));
    if (name_ == "dynamic" && keys_.number("alpha")) {
      if (keys_.has("factor")) config_.ignore(keys_.setting("factor"));
      note("dynamic with alpha, as Hunyuan has it: one NTK factor for every length.");
      name_ = "ntk";
      return ntk(plain, needed("alpha"));
    }
    if (name_ == "dynamic") {
      auto const factor = ntk_factor_ ? record_.used("factor", *ntk_factor_) : needed("factor");
      auto const trained = trained_length();
      auto const at = [=](std::size_t length) {
        return dynamic_ntk(plain, {factor, trained}, std::max(1.0, static_cast<double>(length)));
      };
      at(1);  // throws here rather than when it is used
      note("dynamic NTK: frequencies change with the length beyond " + shown(trained) + " tokens.");
      return frequencies_by_length(at);
    }
    if (name_ == "llama3") {
      return llama3(plain, {.factor = needed("factor"),
                            .low_freq_factor = needed("low_freq_factor"),
                            .high_freq_factor = needed("high_freq_factor"),
                            .original_length = original_length()});
    }
    if (name_ == "yarn") return yarn_of(rotary_dim, base);
    if (name_ == "longrope") return longrope_of(plain);
    keys_.refuse(keys_.has("rope_type") ? "rope_type" : "type",
                 "be one of default, linear, dynamic, yarn, longrope (or su), llama3, "
                 "proportional, mrope");
  }

  frequencies yarn_of(std::size_t rotary_dim, double base) {
    bool const is_scaled = keys_.has("factor") || keys_.has(original) || config_.keys.has(original);
    keys_.require(is_scaled, "factor",
                  "be given for rope_type yarn where original_max_position_embeddings is not");
    auto const length = original_length();
    yarn_scaling scaling{.factor = factor_by_context(length), .original_length = length};
    auto const set = [&](char const* key, double& to) {
      auto const given = keys_.number(key);
      if (given && *given != 0) to = *given;  // 0 counts as absent in transformers
      record_.used(key, to);
    };
    set("beta_fast", scaling.beta_fast);
    set("beta_slow", scaling.beta_slow);
    scaling.truncate = keys_.flag("truncate").value_or(true);
    record_.used("truncate", std::string(scaling.truncate ? "true" : "false"));
    scaling.mscale = optional("mscale");
    scaling.mscale_all_dim = optional("mscale_all_dim");
    scaling.attention_factor = optional("attention_factor");
    if (is_compressed_ && !scaling.attention_factor)
      scaling.attention_factor = one_of_deepseek(scaling);
    if (auto const slope = family_.yarn_slope; slope != 0 && !scaling.attention_factor) {
      scaling.attention_factor =
          record_.used("attention_factor", slope * std::log(scaling.factor) + 1);
    }
    if (scaling.beta_fast < scaling.beta_slow)
      note("beta_fast is below beta_slow: YaRN's ramp falls.");
    auto const ramp = ramp_of_yarn(rotary_dim, base, scaling);
    auto const rounded = [](double index) { return shown(std::round(100 * index) / 100); };
    note("YaRN's ramp runs from pair " + rounded(ramp.first) + " to " + rounded(ramp.last) + ".");
    auto f = yarn(rotary_dim, base, scaling);
    scale_scores(scaling);
    return f;
  }

  void scale_scores(yarn_scaling const& scaling) {
    auto const on_scores = softmax_factor(scaling);
    if (family_.mscale_on_scores) kind_.softmax_factor *= on_scores;
    if (on_scores != 1 && !family_.mscale_note.empty()) {
      config_.note("g(mscale_all_dim)^2 = " + shown(on_scores) +
                   " on scores: " + std::string(family_.mscale_note));
    }
  }

  frequencies_by_length longrope_of(frequencies const& plain) {
    auto const length = original_length();
    longrope_scaling scaling{.short_factor = list("short_factor"),
                             .long_factor = list("long_factor"),
                             .original_length = length,
                             .factor = factor_by_context(length),
                             .attention_factor = optional("attention_factor")};
    // Phi MoE has an attention factor for each list.
    auto const of_short = optional("short_mscale"), of_long = optional("long_mscale");
    keys_.require(of_short.has_value() == of_long.has_value(),
                  of_short ? "long_mscale" : "short_mscale", "be given where the other is");
    if (of_short) scaling.attention_factor = of_short;
    auto f = longrope_by_length(plain, scaling, of_long);
    note("LongRoPE: the short list up to " + shown(length) + " tokens, the long one beyond.");
    return f;
  }

  std::optional<double> optional(char const* key) {
    auto const given = keys_.number(key);
    if (given) record_.used(key, *given);
    return given;
  }
  /// The attention factor of keys that are compressed, where none is given. `scaling` has none.
  double one_of_deepseek(yarn_scaling const& scaling) {
    auto const theirs = attention_factor(scaling);
    // Flat, they add the 1 unless the key is there.
    bool const is_there = !keys_.peek("attention_factor").is_discarded();
    if ((is_nested_ || is_there) && theirs != 1)
      note("attention_factor is 1, as DeepSeek's own code has it. transformers up to 5.17 takes " +
           shown(theirs) +
           (is_nested_ ? " where nested rope_parameters do not give it." : " where it is null."));
    return record_.used("attention_factor", 1);
  }
  double needed(char const* key) {
    return keys_.needed(optional(key), key, "be given for rope_type " + name_);
  }
  std::vector<double> list(char const* key) {
    auto given = keys_.needed(keys_.numbers(key), key, "be given for rope_type " + name_);
    record_.used(key, json(given).dump());
    return given;
  }
  double trained_length() {
    constexpr auto key = "max_trained_positions";
    if (ntk_factor_)
      return record_.used(original, config_.keys.needed(config_.keys.positive(key), key));
    require(config_.found.context.has_value(), keys_.where(),
            ": max_position_embeddings must be given for rope_type ", name_);
    return static_cast<double>(*config_.found.context);
  }

  double original_length() {
    auto const inside = keys_.count(original, most_tokens);
    auto const outside = config_.keys.count(original, most_tokens);  // Phi 3 has it there
    if (inside && outside && *inside != *outside) {
      keys_.refuse(original, "agree with the one outside, which is " + shown(*outside));
    }
    if (inside || outside)
      return record_.used(original, static_cast<double>(inside ? *inside : *outside));
    auto const length = trained_length();
    assume(original, length, "max_position_embeddings, " + shown(length));
    return record_.used(original, length);
  }

  /// The key factor, or the context divided by the original context.
  double factor_by_context(double length) {
    auto const given = keys_.number("factor");
    if (!config_.found.context) {
      if (!given) keys_.refuse("factor", "be given where max_position_embeddings is not");
      return record_.used("factor", *given);
    }
    auto const ratio = static_cast<double>(*config_.found.context) / length;
    if (!given) {
      assume("factor", ratio,
             "max_position_embeddings / original_max_position_embeddings, " + shown(ratio));
    } else if (*given != ratio) {
      note("factor is " + shown(*given) + " although max_position_embeddings is " + shown(ratio) +
           " times the original.");
    }
    return record_.used("factor", given.value_or(ratio));
  }

  void assume(std::string const& key, double value, std::string const& source) {
    config_.assume(keys_.path() + key, value,
                   kind_.name + ": " + key + " is not given: " + source + ".");
  }
  void note(std::string const& sentence) { config_.note(kind_.name + ": " + sentence); }

  static constexpr auto original = "original_max_position_embeddings";

  hugging_face_config& config_;
  scheduled_layer const& layer_;
  layer_description& kind_;
  model_family const& family_ = config_.family;
  bool slides_ = layer_.type == sliding_attention;
  bool is_compressed_ = family_.compressed && !slides_;  ///< of compressed keys (DeepSeek-V4)
  bool has_local_base_ =  ///< sliding layers have another base
      config_.is_known
          ? family_.local_base != 0
          : config_.keys.has("rope_local_base_freq") || config_.keys.has("swa_rope_theta");
  /// Empty if the file has no keys for these layers.
  rope_keys of_layer_ = rope_keys_of(config_, layer_.type, is_compressed_, has_local_base_);
  bool is_nested_ = of_layer_.is_nested;
  json_object keys_ = of_layer_.keys;
  std::string name_;  ///< rope_type
  std::optional<double> ntk_factor_ = config_.keys.positive(std::string(family_.ntk_key));
  rope_record record_;
};

}}}  // namespace posenc::detail
