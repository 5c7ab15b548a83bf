// The keys of a config.json, with what is known of its family. (nlohmann-json)
#pragma once

#include <initializer_list>
#include <numeric>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/families.hpp"
#include "posenc/model/hugging_face/detail/json_object.hpp"
#include "posenc/model/hugging_face/detail/text_model.hpp"
#include "posenc/model/hugging_face/detail/unread.hpp"

namespace posenc { inline namespace POSENC_TARGET {
/// How to read a config.json.
struct hugging_face_options {
  unknown_model unknown = unknown_model::refused;  ///< families that are not known
};

namespace detail {

/// The keys of the text model, its family, and what was found.
class hugging_face_config : public findings, public json_object {
 public:
  hugging_face_config(json_object const& root, hugging_face_options const& options)
      : json_object(text_model_of(root)), file(root) {
    found.type = text("model_type").value_or(root.text("model_type").value_or(""));
    if (found.type.empty()) refuse("model_type", "be given");
    auto const* const known = family_of(found.type);
    is_known = known != nullptr;
    require(is_known || options.unknown == unknown_model::as_llama, "model_type",
            "be one that is known, unless unknown_model::as_llama is asked for");
    family.slides = true;
    if (is_known) family = *known;
    take_defaults_from((is_known ? found.type : std::string("Llama")) + " has it");
    require(family.refusal.empty(), "model_type", family.refusal);
    require(path().empty() || !family.alternates, "model_type",
            "be given within, for this one is of images");
    note(family.note);
    auto const* const outer = family_of(root.text("model_type").value_or(""));
    if (outer != nullptr && !path().empty()) add_what_holds_within(*outer);
    if (is_known) hide_what_does_not_act();

    found.layers = layers();
    heads_ =
        family.is_decoder
            ? count({"decoder_attention_heads", "decoder_num_attention_heads"}, most_dims)
            : count({"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"},
                    most_dims);
    if (!heads_ && may_omit_sizes()) heads_ = assumed("num_attention_heads", std::size_t{32});
    read_context();
  }

  json_object file;
  model_family family = {};
  std::string_view outside_without_effect = {};  ///< keys outside the text_config
  bool is_known;

  using json_object::count, json_object::positive;
  /// The value under one of several names. Throws std::invalid_argument if two names differ.
  std::optional<std::size_t> count(std::initializer_list<char const*> names,
                                   std::size_t most) const {
    return agreed(names, [most](auto const& o, auto const& key) { return o.count(key, most); });
  }
  std::optional<double> positive(std::initializer_list<char const*> names) const {
    return agreed(names, [](auto const& o, auto const& key) { return o.positive(key); });
  }

  /// The value of a key, or a default, which is then recorded as assumed.
  std::size_t count_or(std::string const& key, std::size_t most, std::size_t value) {
    return or_assumed(count(key, most), key, value);
  }
  std::optional<double> positive_or_none(std::string_view key) const { return positive(key); }
  bool is_null(std::string const& key) const { return peek(key).is_null(); }
  double positive_or(std::string const& key, double value) {
    return or_assumed(positive(key), key, value);
  }

  std::size_t heads() const { return needed(heads_, "num_attention_heads"); }

  std::size_t head_dim() {
    auto const given = count({"head_dim", "kv_channels", "d_kv", "attention_head_dim"}, most_dims);
    if (given) return *given;
    if (family.head_dim != 0) return assumed("head_dim", family.head_dim);
    for (auto const* name : {"hidden_size", "n_embd", "d_model", "dim", "embed_dim"}) {
      auto const hidden = count(name, std::size_t{1} << 24);
      if (!hidden) continue;
      require(*hidden % heads() == 0, name,
              "be a multiple of the " + shown(heads()) + " heads where head_dim is not given");
      return *hidden / heads();
    }
    if (may_omit_sizes()) return assumed("hidden_size", std::size_t{4096}) / heads();
    refuse("head_dim", "be given where hidden_size is not");
  }

  /// sliding_window, or the family's name of it: null and 0 are no window, absent is the family's.
  std::optional<std::size_t> window() {
    auto const key = std::string(family.window_key);
    auto const get = [](auto const& o, auto const& name) {
      return o.count_or_zero(name, most_tokens);
    };
    auto const given = agreed({key.c_str(), "sliding_window_size"}, get);
    if (given || family.window == 0 || !peek(key).is_discarded()) return given;
    return assumed(key, family.window);
  }

  /// A model that is not known must have a key about RoPE.
  void require_rope_if_unknown() {
    if (is_known) return;
    auto const is_of_rope = [](auto const& item) {
      auto const& key = item.key();
      return key.find("rope_") != key.npos || key.starts_with("rotary_") ||
             key == "partial_rotary_factor";
    };
    auto const items = whole().items();
    require(std::any_of(items.begin(), items.end(), is_of_rope), "model_type",
            "be known where no key is about RoPE");
    assume(
        "model_type", "llama",
        "model_type " + found.type + " is not known: pairs are halves, and defaults are Llama's.");
  }

  /// The norm of a layer; none if the flag that switches it is off.
  norm_rule norm_of(std::size_t) {
    auto rule = family.norm;
    auto const key = std::string(rule.flag);
    if (key.empty()) return rule;
    auto const given = flag(key);
    if (!given) assumed(key, std::string(rule.by_default ? "true" : "false"));
    if (!given.value_or(rule.by_default)) rule.of = norm_scope::none;
    return rule;
  }
  double norm_eps(norm_scope of) const {
    if (of <= norm_scope::none) return 0;
    auto const given = of == norm_scope::centred ? positive("layer_norm_eps")
                                                 : positive({"rms_norm_eps", "norm_eps"});
    return given.value_or(0);
  }
  static constexpr char const* norm_prefix = "";
  std::size_t heads_of(std::size_t, bool of_keys) const {
    auto const all = heads();
    return of_keys ? count("num_key_value_heads", most_dims).value_or(all) : all;
  }

  /// Keys that do not act because another one, which is given, says the same.
  void supersede(std::initializer_list<char const*> names) {
    for (std::string const name : names) {
      if (has(name)) ignore(setting(name));
    }
  }

  /// What was found, with the keys that were read and ignored; throws as check_unread does.
  model_description settled() {
    auto const& index = family.index;
    bool const any_has_index =
        std::ranges::any_of(found.kinds, [](auto const& kind) { return kind.index.has_value(); });
    for (auto const& rule : {index.heads, index.head_dim, index.chosen, index.block,
                             index.local_blocks, index.key_stride}) {
      auto const key = std::string(rule.key);
      if (!any_has_index && has(key)) ignore(setting(key));
    }
    check_unread(*this, file);
    found.read = file.read();
    std::erase_if(found.read,
                  [&](auto const& setting) { return contains(found.ignored, setting); });
    return std::move(found);
  }

 private:
  /// What the record of the outer model says of the text model within.
  void add_what_holds_within(model_family const& outer) {
    family.has_axes = family.has_axes || outer.has_axes;
    if (outer.within != both_ways::none) family.within = outer.within;
    for (auto const key : words_of(outer.lacks)) hide(key);
    hide_what_is_lost(outer);
    outside_without_effect = outer.without_effect;
  }
  /// Keys that the class of the model does not read count as unread.
  void hide_what_does_not_act() const {
    using enum position_rule;
    auto const& f = family;
    bool const layers_differ = f.full_every != 1 || f.max_window_layers != 0 || f.nope_every != 0 ||
                               f.needs_layer_types || f.needs_nested_rope || !f.others.empty();
    auto const goes_with_rule = [&](std::string_view key) {
      return (key == "layer_types" && layers_differ) || (key.starts_with("qk_") && f.last_dims) ||
             (key == "position_embedding_type" && f.positions == learned_absolute);
    };
    for (auto const key : words_of(keys_of_some_families))
      if (!contains(words_of(f.keys), key) && !goes_with_rule(key)) hide_everywhere(key);
    for (auto const key : words_of(f.lacks)) hide(key);
    hide_what_is_lost(f);
    auto const may_rotate = {rope, alibi_if_flagged, alibi_without_context};
    if (!contains(may_rotate, f.positions)) hide("head_dim");
  }

  /// Some classes make rope_parameters of their defaults where there are none.
  void hide_what_is_lost(model_family const& f) const {
    if (has("rope_parameters") || has("rope_scaling")) return;
    for (auto const key : words_of(f.loses)) hide(key);
  }

  bool may_omit_sizes() const { return !path().empty() && family.omits_sizes; }

  std::size_t layers() {
    auto const given =
        family.is_decoder
            ? count({"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"},
                    most_dims)
            : count({"num_hidden_layers", "n_layer", "n_layers", "num_layers", "layers"},
                    most_dims);
    if (given) return *given;
    if (auto const listed = texts("layers_block_type")) {  // Nemotron-H, of transformers 5
      require(!listed->empty(), "layers_block_type", "have an entry for each layer");
      return listed->size();
    }
    if (may_omit_sizes()) return assumed("num_hidden_layers", std::size_t{32});
    refuse(family.is_decoder ? "decoder_layers" : "num_hidden_layers", "be given");
  }

  void read_context() {
    for (auto const* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                            "n_ctx", "max_target_positions"}) {
      auto const given = count(key, most_tokens);
      if (given && found.context && *given != *found.context) {
        note(std::string(key) + " is " + shown(*given) + ", which is not taken for the context.");
      }
      if (given && !found.context) found.context = given;
    }
    if (!found.context && family.context != 0) {
      found.context = assumed("max_position_embeddings", family.context);
    }
  }

  std::optional<std::size_t> heads_;
};

}  // namespace detail
}}  // namespace posenc
