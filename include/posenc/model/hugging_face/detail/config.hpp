// The settings of a whole model in a config.json. (nlohmann-json)
#pragma once

#include <initializer_list>

#include "posenc/core/target.hpp"
#include "posenc/model/detail/findings.hpp"
#include "posenc/model/hugging_face/detail/families.hpp"
#include "posenc/model/hugging_face/detail/json_object.hpp"
#include "posenc/model/hugging_face/detail/unread.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The object within that has it, or the file itself. Throws std::invalid_argument if several
/// differ.
inline json_object text_model_of(json_object const& root) {
  auto const thinker = root.object("thinker_config");
  auto const model = thinker.value_or(root);
  std::optional<json_object> found;
  std::string first = "thinker_config";
  for (auto const* key : {"text_config", "llm_config", "language_config"}) {
    root.require(!thinker || !root.has(key), key, "not be given beside thinker_config");
    auto inner = model.object(key);
    if (!inner) continue;
    model.require(!found || found->whole() == inner->whole(), key,
                  "agree with " + first + ", for the model of text is in one of them");
    if (!found) {
      found = std::move(inner);
      first = key;
    }
  }
  return found.value_or(model);
}

/// The keys of the text model, its family, and what was found.
class hugging_face_config : public findings {
 public:
  hugging_face_config(json_object const& root, unknown_model unknown)
      : file(root), keys(text_model_of(root)) {
    found.type = keys.text("model_type").value_or(root.text("model_type").value_or(""));
    if (found.type.empty()) keys.refuse("model_type", "be given");
    auto const* const known = family_of(found.type);
    is_known = known != nullptr;
    keys.require(is_known || unknown == unknown_model::as_llama, "model_type", one_that_is_known);
    family.slides = true;
    if (is_known) family = *known;
    take_defaults_from((is_known ? found.type : std::string("Llama")) + " has it");
    keys.require(family.refusal.empty(), "model_type", family.refusal);
    keys.require(keys.path().empty() || !family.alternates, "model_type",
                 "be given within, for this one is of images");
    note(family.note);
    auto const* const outer = family_of(root.text("model_type").value_or(""));
    if (outer != nullptr && !keys.path().empty()) add_what_holds_within(*outer);
    if (is_known) hide_what_does_not_act();

    found.layers = layers();
    heads_ = family.is_decoder
                 ? keys.count({"decoder_attention_heads", "decoder_num_attention_heads"}, most_dims)
                 : keys.count(
                       {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"},
                       most_dims);
    if (!heads_ && may_omit_sizes()) heads_ = assumed("num_attention_heads", std::size_t{32});
    read_context();
  }

  json_object file;  ///< whole
  json_object keys;  ///< the text model
  model_family family = {};
  std::string_view outside_without_effect = {};  ///< keys outside the text_config
  bool is_known;

  /// The value of a key, or a default, which is then recorded as assumed.
  std::size_t count_or(std::string const& key, std::size_t most, std::size_t value) {
    return or_assumed(keys.count(key, most), key, value);
  }
  double positive_or(std::string const& key, double value) {
    return or_assumed(keys.positive(key), key, value);
  }

  std::size_t heads() const { return keys.needed(heads_, "num_attention_heads"); }

  std::size_t head_dim() {
    auto const given =
        keys.count({"head_dim", "kv_channels", "d_kv", "attention_head_dim"}, most_dims);
    if (given) return *given;
    if (family.head_dim != 0) return assumed("head_dim", family.head_dim);
    for (auto const* name : {"hidden_size", "n_embd", "d_model", "dim", "embed_dim"}) {
      auto const hidden = keys.count(name, std::size_t{1} << 24);
      if (!hidden) continue;
      keys.require(*hidden % heads() == 0, name,
                   "be a multiple of the " + shown(heads()) + " heads where head_dim is not given");
      return *hidden / heads();
    }
    if (may_omit_sizes()) return assumed("hidden_size", std::size_t{4096}) / heads();
    keys.refuse("head_dim", "be given where hidden_size is not");
  }

  /// sliding_window, or the family's name of it: null and 0 are no window, absent is the family's.
  std::optional<std::size_t> window() {
    auto const key = std::string(family.window_key);
    auto const get = [](auto const& o, auto const& name) {
      return o.count_or_zero(name, most_tokens);
    };
    auto const given = keys.agreed({key.c_str(), "sliding_window_size"}, get);
    if (given || family.window == 0 || !keys.peek(key).is_discarded()) return given;
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
    auto const items = keys.whole().items();
    keys.require(std::any_of(items.begin(), items.end(), is_of_rope), "model_type",
                 "be known where no key is about RoPE");
    assume(
        "model_type", "llama",
        "model_type " + found.type + " is not known: pairs are halves, and defaults are Llama's.");
  }

  /// Keys that do not act because another one, which is given, says the same.
  void supersede(std::initializer_list<char const*> names) {
    for (std::string const name : names) {
      if (keys.has(name)) ignore(keys.setting(name));
    }
  }

  /// The findings, with the keys that were read and ignored; throws as check_unread does.
  model_description settled() {
    auto const& index = family.index;
    bool const any_has_index =
        std::ranges::any_of(found.kinds, [](auto const& kind) { return kind.index.has_value(); });
    for (auto const& rule : {index.heads, index.head_dim, index.chosen, index.block,
                             index.local_blocks, index.key_stride}) {
      auto const key = std::string(rule.key);
      if (!any_has_index && keys.has(key)) ignore(keys.setting(key));
    }
    check_unread(*this, file);
    found.read = file.read();
    std::erase_if(found.read,
                  [&](auto const& setting) { return contains(found.ignored, setting); });
    return std::move(found);
  }

 private:
  /// Adds the facts about the text model that the record of the outer model has.
  void add_what_holds_within(model_family const& outer) {
    family.has_axes = family.has_axes || outer.has_axes;
    if (outer.within != both_ways::none) family.within = outer.within;
    for (auto const key : words_of(outer.lacks)) keys.hide(key);
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
      if (!contains(words_of(f.keys), key) && !goes_with_rule(key)) keys.hide_everywhere(key);
    for (auto const key : words_of(f.lacks)) keys.hide(key);
    hide_what_is_lost(f);
    auto const may_rotate = {rope, alibi_if_flagged, alibi_without_context};
    if (!contains(may_rotate, f.positions)) keys.hide("head_dim");
  }

  /// Some classes make rope_parameters of their defaults where there are none.
  void hide_what_is_lost(model_family const& f) const {
    if (keys.has("rope_parameters") || keys.has("rope_scaling")) return;
    for (auto const key : words_of(f.loses)) keys.hide(key);
  }

  bool may_omit_sizes() const { return !keys.path().empty() && family.omits_sizes; }

  std::size_t layers() {
    auto const given =
        family.is_decoder
            ? keys.count({"decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers"},
                         most_dims)
            : keys.count({"num_hidden_layers", "n_layer", "n_layers", "num_layers", "layers"},
                         most_dims);
    if (given) return *given;
    if (auto const listed = keys.texts("layers_block_type")) {  // Nemotron-H, of transformers 5
      keys.require(!listed->empty(), "layers_block_type", "have an entry for each layer");
      return listed->size();
    }
    if (may_omit_sizes()) return assumed("num_hidden_layers", std::size_t{32});
    keys.refuse(family.is_decoder ? "decoder_layers" : "num_hidden_layers", "be given");
  }

  void read_context() {
    for (auto const* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                            "n_ctx", "max_target_positions"}) {
      auto const given = keys.count(key, most_tokens);
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

}}}  // namespace posenc::detail
