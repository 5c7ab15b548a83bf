// The settings of a whole model in a GGUF file.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/rope_rule.hpp"
#include "posenc/model/gguf/detail/architectures.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The keys of the architecture, what is known of it, and what was found.
class gguf_config : public findings {
 public:
  /// `layout` is that of an architecture that is not known.
  gguf_config(gguf_metadata const& metadata, unknown_model unknown,
              std::optional<std::variant<halves, interleaved>> const& layout)
      : file(metadata), keys(metadata) {
    constexpr auto name = "general.architecture";
    found.type = file.needed(file.text(name), name);
    bool const is_name = !found.type.empty() && found.type.size() <= 64 &&
                         printable(found.type).starts_with(found.type);
    file.require(is_name, name, "be a name of 1 to 64 printable letters");
    auto const* known = gguf_architectures::find(found.type);
    is_known = known != nullptr;
    file.require(is_known || unknown == unknown_model::as_llama, name, one_that_is_known);
    family = is_known ? *known : *gguf_architectures::find("llama");
    file.require(family.refusal.empty(), name, family.refusal);
    take_defaults_from("llama.cpp has it for " + (is_known ? found.type : std::string("llama")));
    if (!is_known) {
      bool const is_halves = layout && std::holds_alternative<halves>(*layout);
      family.interleaved = !is_halves;
      family.reads = gguf_group::plain;
      family.norm = {norm_scope::unknown};
      assume(name, "llama",
             "general.architecture " + found.type + " is not known: pairs are " +
                 (is_halves ? "halves" : "interleaved") + ", and defaults are Llama's.");
    }
    keys.architecture = found.type, keys.groups = family.reads;
    keys.require(family.refused_key.empty() || !keys.has(family.refused_key), family.refused_key,
                 "be absent: it makes another model of this");
    note(family.note);
    auto const blocks = keys.needed(keys.count("block_count", most_dims), "block_count");
    // These layers follow the others.
    auto const predicting =
        family.all_predict ? 0 : keys.count("nextn_predict_layers", 0, blocks - 1).value_or(0);
    if (predicting != 0) {
      note("Layers that predict further tokens (nextn_predict_layers) are left out: " +
           shown(predicting) + ".");
    }
    found.layers = blocks - predicting;
    if (auto const loops = keys.count("num_loops", 1, most_dims / found.layers).value_or(1);
        loops > 1) {
      note("The " + shown(found.layers) + " layers of the file are passed " + shown(loops) +
           " times: each pass counts as separate layers.");
      found.layers *= loops;
    }
    keys.layers = found.layers;
    found.context = keys.count("context_length", 1, most_tokens);
    bool const has_scale = family.scale_default != 0 || keys.positive_or_none("attention.scale");
    if (has_scale && family.scale_key.empty()) family.scale_key = "attention_multiplier";
  }

  gguf_metadata const& file;
  architecture_keys keys;
  model_family family = {.types = ""};
  bool is_known = false;

  /// The window, if any layer slides.
  std::optional<std::size_t> window() {
    constexpr auto name = "attention.sliding_window";
    auto const given = keys.count_or_zero(name, most_tokens);
    if (family.slide_if_layers != 0 && family.slide_if_layers != found.layers) return {};
    return given || family.window == 0 || keys.has(name) ? given : assumed(name, family.window);
  }

  template <class T>
  T assumed(std::string_view name, T value) {
    return findings::assumed(keys.key(name), value);
  }
  template <class T>
  T or_assumed(std::optional<T> const& given, std::string_view name, T value) {
    return findings::or_assumed(given, keys.key(name), value);
  }

  /// Query heads of each layer; 0 where it has no attention.
  std::vector<std::size_t> heads() const {
    return keys.needed(keys.counts("attention.head_count", most_dims), "attention.head_count");
  }
  std::optional<std::vector<std::size_t>> key_heads() const {
    return keys.counts("attention.head_count_kv", most_dims);
  }
  /// embedding_length / head_count, the default of head_dim.
  std::size_t embedding_per_head() const {
    constexpr auto name = "embedding_length";
    auto const embedding = keys.needed(keys.count(name, std::uint64_t{1} << 24), name,
                                       "be given where attention.key_length is not");
    auto const heads = this->heads().front();
    keys.require(heads != 0 && embedding % heads == 0, name,
                 "be a multiple of the " + shown(heads) + " heads of layer 0");
    return embedding / heads;
  }

  /// The tensor that divides frequencies, a factor for each pair.
  std::optional<std::vector<double>> factors(std::size_t pairs, std::string_view tensor) const {
    auto given = file.values(tensor);
    if (!given) return {};
    error_context const context(file.file());
    if (family.shared_factors && given->size() > pairs) given->resize(pairs);
    detail::require(given->size() == pairs, tensor, " must have one factor for each of the ", pairs,
                    " pairs, got ", given->size());
    for (auto const f : *given)
      detail::require(is_finite(f) && f > 0, tensor, " must have finite factors above 0, got ", f);
    return given;
  }

  /// The axis of each pair, where rope.dimension_sections are given or needed.
  std::optional<pair_axes> axes(std::size_t pairs) {
    constexpr auto name = "rope.dimension_sections";
    bool const interleave = family.order == axis_order::interleaved;
    auto const given = keys.reads(name) ? file.numbers(keys.key(name)) : std::nullopt;
    keys.require(given || !family.has_axes, name, "be given");
    if (!given) return {};
    auto sections = axis_sections(keys.where(name), *given);
    keys.require(sections.size() == 3 || sections.size() == 4, name, "have 3 or 4 sections");
    bool const has_axes = sections[0] != 0 && sections[1] != 0;  // llama_hparams::use_mrope
    if (!has_axes && !family.has_axes) return {};
    if (sections.size() == 4 && sections.back() == 0) sections.pop_back();
    auto result = axes_of(keys.where(name), sections, pairs, interleave);
    bool differs = false;
    for (std::size_t i = 0; interleave && i < pairs; ++i) differs |= i >= 3 * sections[i % 3];
    if (differs) {
      note(
          "Pairs beyond the section of their axis take the first axis, as in the model's own code. "
          "ggml has a fourth axis for them.");
    }
    return result;
  }

  /// The findings, with the keys that act and the keys that do not, by their names. A key that is
  /// not read is an error; if it is known to have no effect, or if the architecture is not known,
  /// it becomes a note instead.
  model_description settled() {
    auto const prefix = found.type + ".";
    for (auto const& [full, value] : file.keys()) {
      if (!full.starts_with(prefix)) continue;
      auto const name = std::string_view(full).substr(prefix.size());
      if (!gguf_key_speaks(name)) continue;
      auto const* const known = gguf_key_of(name);
      bool const is_read = known != nullptr && keys.reads(name);
      bool const has_effect = is_read && (rotates() || !name.starts_with("rope."));
      (has_effect ? found.read : found.ignored).push_back({printable(full), json_of(value)});
      if (is_read || contains(words_of(gguf_keys_that_act_elsewhere), name)) continue;
      bool const is_without_effect =
          (known != nullptr && (known->group & gguf_group::written_for_all) != 0) ||
          contains(words_of(family.without_effect), name);
      if (is_known && is_without_effect) {
        note(full + " is without effect: llama.cpp does not read it for " + found.type + ".");
        continue;
      }
      file.require(!is_known, full, "be a key that is read for " + found.type + says_that_it_acts);
      note(printable(full) + " is not read.");
    }
    return std::move(found);
  }

 private:
  static std::string json_of(std::string const& text) {
    std::string result = "\"";
    for (char const c : printable(text)) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + '"';
  }
  static std::string json_of(gguf_value const& value) {
    if (auto const* const text = std::get_if<std::string>(&value)) return json_of(*text);
    auto const* const list = std::get_if<gguf_list>(&value);
    return list == nullptr ? shown_gguf(value) : shown_list(list->numbers);
  }
};

}}}  // namespace posenc::detail
