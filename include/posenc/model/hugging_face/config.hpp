// The keys of a config.json, with what is known of its family. (nlohmann-json)
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/families.hpp"
#include "posenc/model/hugging_face/json_object.hpp"
#include "posenc/model/settings.hpp"

namespace posenc::inline POSENC_TARGET {
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
    auto const known = family_of(found.type);
    is_known = known.has_value();
    if (!is_known && options.unknown == unknown_model::refused) {
      refuse("model_type", "be one that is known, unless unknown_model::as_llama is asked for");
    }
    family = known.value_or(model_family{});
    take_defaults_from((is_known ? found.type : std::string("Llama")) + " has it");

    if (family.positions == position_rule::refused) {
      refuse("model_type", family.refusal);
    }
    if (!family.note.empty()) note(std::string(family.note));
    if (auto const outer = family_of(root.text("model_type").value_or(""))) {
      family.has_axes = family.has_axes || outer->has_axes;
    }
    found.layers = layers();
    heads_ = family.is_decoder
                 ? count("decoder_attention_heads", most_dims)
                 : count({"num_attention_heads", "n_head", "n_heads", "num_heads"}, most_dims);
    if (!heads_ && may_leave_out_sizes()) heads_ = assumed("num_attention_heads", family.heads);
    read_context();
  }

  json_object file;
  model_family family;
  bool is_known;

  using json_object::count, json_object::number;
  /// The value under one of several names. Throws std::invalid_argument if two names differ.
  std::optional<std::size_t> count(std::initializer_list<char const*> names,
                                   std::size_t most) const {
    auto const get = [most](json_object const& o, std::string const& key) {
      return o.count(key, most);
    };
    return agreed(names, get);
  }
  std::optional<double> number(std::initializer_list<char const*> names) const {
    auto const get = [](json_object const& o, std::string const& key) { return o.number(key); };
    return agreed(names, get);
  }

  /// The value of a key, or a default, which is then recorded as assumed.
  std::size_t count_or(std::string const& key, std::size_t most, std::size_t value) {
    auto const given = count(key, most);
    return given ? *given : assumed(key, value);
  }
  double number_or(std::string const& key, double value) {
    auto const given = number(key);
    return given ? *given : assumed(key, value);
  }
  double positive_or(std::string const& key, double value) {
    auto const given = number(key);
    if (given) require(*given > 0, key, "be positive");
    return given ? *given : assumed(key, value);
  }

  std::size_t heads() const {
    if (!heads_) refuse("num_attention_heads", "be given");
    return *heads_;
  }

  std::size_t head_dim() {
    auto const given = count({"head_dim", "kv_channels", "d_kv", "attention_head_dim"}, most_dims);
    if (given) return *given;
    if (family.head_dim != 0) return assumed("head_dim", family.head_dim);
    for (auto const* name : {"hidden_size", "n_embd", "d_model", "dim"}) {
      auto const hidden = count(name, std::size_t{1} << 24);
      if (!hidden) continue;
      require(*hidden % heads() == 0, name,
              "be a multiple of the " + shown(heads()) + " heads where head_dim is not given");
      return *hidden / heads();
    }
    if (may_leave_out_sizes()) return assumed("hidden_size", family.hidden) / heads();
    refuse("head_dim", "be given where hidden_size is not");
  }

  /// sliding_window, or the family's name of it: null and 0 are no window, absent is the family's.
  std::optional<std::size_t> window() {
    auto const key = std::string(family.window_key);
    auto const get = [](json_object const& o, std::string const& name) {
      return o.count_or_zero(name, most_tokens);
    };
    auto const given = agreed({key.c_str(), "sliding_window_size"}, get);
    if (given || family.window == 0 || has(key) || is_null(key)) return given;
    return assumed(key, family.window);
  }

  /// Keys that do not act because another one, which is given, says the same.
  void supersede(std::initializer_list<char const*> names) {
    for (std::string const name : names) {
      if (has(name)) ignore(setting(name));
    }
  }

  /// The one kind of a model whose layers are all alike.
  layer_description& add_kind_of_all_layers() {
    layer_description kind{.name = "full_attention",
                           .layers = std::vector<std::size_t>(found.layers),
                           .head_dim = head_dim()};
    std::iota(kind.layers.begin(), kind.layers.end(), std::size_t{0});
    return found.kinds.emplace_back(std::move(kind));
  }

 private:
  static json_object text_model_of(json_object const& root) {
    auto model = root;
    if (auto const thinker = model.object("thinker_config")) model = *thinker;
    for (auto const* key : {"text_config", "llm_config", "language_config"}) {
      if (auto const inner = model.object(key)) return *inner;
    }
    return model;
  }

  /// A text_config leaves out what its class has by default.
  bool may_leave_out_sizes() const { return !path().empty() && family.layers != 0; }

  std::size_t layers() {
    auto const given =
        family.is_decoder
            ? count("decoder_layers", most_dims)
            : count({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, most_dims);
    if (given) return *given;
    if (auto const listed = texts("layers_block_type")) {  // Nemotron-H, of transformers 5
      require(!listed->empty(), "layers_block_type", "have an entry for each layer");
      return listed->size();
    }
    if (may_leave_out_sizes()) return assumed("num_hidden_layers", family.layers);
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
}  // namespace posenc
