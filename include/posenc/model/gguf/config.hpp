// The keys of a GGUF file, with what is known of its architecture.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/gguf/architectures.hpp"
#include "posenc/model/gguf/metadata.hpp"
#include "posenc/model/settings.hpp"
#include "posenc/rotation/layout.hpp"

namespace posenc::inline POSENC_TARGET {

/// How to read a GGUF file.
struct gguf_options {
  unknown_model unknown = unknown_model::refused;  ///< architectures that are not known
  /// The layout of pairs of an unknown architecture; interleaved, as Llama's in GGUF, if not given.
  std::optional<std::variant<halves, interleaved>> layout = {};
};

namespace detail {

/// The keys of the architecture, what is known of it, and what was found.
class gguf_config : public findings, public settings<gguf_config, gguf_metadata> {
 public:
  gguf_config(gguf_metadata const& metadata, gguf_options const& options) : file(metadata) {
    auto const name = file.text("general.architecture");
    if (!name) file.refuse("general.architecture", "be given");
    bool const is_name =
        !name->empty() && name->size() <= 64 && printable(*name).starts_with(*name);
    file.require(is_name, "general.architecture", "be a name of 1 to 64 printable letters");
    found.type = *name;
    auto const known = gguf_architectures::find(*name);
    file.require(known || options.unknown == unknown_model::as_llama, "general.architecture",
                 "be one that is known, unless unknown_model::as_llama is asked for");
    is_known = known.has_value();
    architecture = known.value_or(*gguf_architectures::find("llama"));
    take_defaults_from("llama.cpp has it for " + (is_known ? found.type : "llama"));
    if (!is_known) {
      bool const is_halves = options.layout && std::holds_alternative<halves>(*options.layout);
      if (is_halves) architecture.rope = gguf_rope_type::neox;
      architecture.reads = gguf_group::plain;
      assume("general.architecture", "llama",
             "general.architecture " + found.type + " is not known: pairs are " +
                 (is_halves ? "halves" : "interleaved") + ", and defaults are Llama's.");
    }
    if (auto const refused = architecture.refused; !refused.empty()) {
      require(!has(refused), refused, "be absent: it makes another model of this");
    }
    if (!architecture.note.empty()) note(std::string(architecture.note));
    auto const blocks = needed("block_count", 1, most_dims);
    found.layers = blocks - predicting_layers(blocks);
    if (auto const loops = count("num_loops", 1, most_dims / found.layers).value_or(1); loops > 1) {
      note("The " + shown(found.layers) + " layers of the file are passed " + shown(loops) +
           " times: each pass counts as layers of its own.");
      found.layers *= loops;
    }
    found.context = count("context_length", 1, most_tokens);
  }

  /// Layers that predict further tokens, after the others.
  std::size_t predicting_layers(std::size_t blocks) {
    if (architecture.all_predict) return 0;
    auto const predicting = count("nextn_predict_layers", 0, blocks - 1).value_or(0);
    if (predicting != 0) {
      note("Layers that predict further tokens (nextn_predict_layers) are left out: " +
           shown(predicting) + ".");
    }
    return predicting;
  }

  gguf_metadata const& file;
  gguf_architecture architecture = {.name = "", .rope = gguf_rope_type::none};
  bool is_known = false;

  /// The full name of a key.
  std::string key(std::string_view name) const { return found.type + "." + std::string(name); }
  /// Whether llama.cpp reads a key for this architecture. What it does not read counts as absent.
  bool reads(std::string_view name) const {
    auto const group = gguf_group_of(name);
    return group == 0 || (architecture.reads & group) != 0;
  }
  gguf_value const* value_of(std::string_view name) const {
    return reads(name) ? file.value_of(key(name)) : nullptr;
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view must) const {
    file.refuse(key(name), must);
  }
  /// A count that must be given.
  std::size_t needed(std::string_view name, std::uint64_t least, std::uint64_t most) const {
    auto const given = count(name, least, most);
    if (!given) refuse(name, "be given");
    return *given;
  }
  std::optional<double> positive(std::string_view name) {
    auto const given = number(name);
    if (given) require(*given > 0, name, "be above 0");
    return given;
  }
  /// As positive, but 0 counts as absent: llama.cpp writes it for none.
  std::optional<double> positive_or_none(std::string_view name) {
    auto const given = number(name);
    if (given) require(*given >= 0, name, "be 0 or above");
    return given == 0.0 ? std::nullopt : given;
  }

  /// A count for each layer: the key holds one for all layers, or a list.
  std::optional<std::vector<std::size_t>> counts(std::string_view name, std::uint64_t most) {
    if (!reads(name) || !file.is_list(key(name))) {
      auto const one = count(name, 0, most);
      return one ? std::optional(std::vector<std::size_t>(found.layers, *one)) : std::nullopt;
    }
    auto const list = *file.numbers(key(name));
    require(list.size() >= found.layers, name,
            "have one entry for each of the " + shown(found.layers) + " layers");
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < found.layers; ++i) {
      bool const fits = list[i] >= 0 && list[i] <= static_cast<double>(most) &&
                        list[i] == static_cast<double>(static_cast<std::size_t>(list[i]));
      detail::require(fits, file.file(), ": ", key(name), " must hold whole numbers from 0 to ",
                      most, ", got ", list[i], " for layer ", i);
      result.push_back(static_cast<std::size_t>(list[i]));
    }
    return result;
  }

  template <class T>
  T assumed(std::string_view name, T value) {
    return findings::assumed(key(name), value);
  }

  /// Query heads of each layer; 0 where it has no attention.
  std::vector<std::size_t> heads() {
    auto given = counts("attention.head_count", most_dims);
    if (!given) refuse("attention.head_count", "be given");
    return *std::move(given);
  }
  std::size_t heads_of_all_layers() {
    auto const all = heads();
    bool const are_equal = std::ranges::all_of(all, [&](auto n) { return n == all.front(); });
    require(are_equal && all.front() != 0, "attention.head_count",
            "be above 0 and the same for all layers with ALiBi");
    return all.front();
  }
  /// embedding_length / head_count, the default of head_dim.
  std::size_t embedding_per_head() {
    auto const embedding = count("embedding_length", 1, std::uint64_t{1} << 24);
    if (!embedding) refuse("embedding_length", "be given where attention.key_length is not");
    auto const heads = this->heads().front();
    require(heads != 0 && *embedding % heads == 0, "embedding_length",
            "be a multiple of the " + shown(heads) + " heads of layer 0");
    return *embedding / heads;
  }
  std::size_t head_dim(bool slides) {
    auto const latent = count("attention.key_length_mla", most_dims);
    auto const all = latent ? latent : count("attention.key_length", most_dims);
    auto const local = slides ? count("attention.key_length_swa", most_dims) : std::nullopt;
    return local ? *local : all ? *all : embedding_per_head();
  }

  /// Lists which keys act and which do not, by their names. A key that is not read is an error; if
  /// it is known to have no effect, or if the architecture is not known, it becomes a note instead.
  void settle_keys() {
    auto const prefix = found.type + ".";
    auto const holds = [](auto const& list, std::string_view name) {
      return std::ranges::find(list, name) != list.end();
    };
    for (auto const& [full, value] : file.keys()) {
      if (!full.starts_with(prefix)) continue;
      auto const name = std::string_view(full).substr(prefix.size());
      if (!gguf_key_speaks(name)) continue;
      auto const group = gguf_group_of(name);
      bool const is_read = group == 0 ? holds(gguf_keys_of_all, name) : reads(name);
      model_setting setting{printable(full), json_of(value)};
      bool const has_effect = is_read && (rotates() || !name.starts_with("rope."));
      (has_effect ? found.read : found.ignored).push_back(std::move(setting));
      if (is_read || holds(gguf_keys_that_act_elsewhere, name)) continue;
      bool const is_without_effect =
          (group & (gguf_group::written_for_all | architecture.without_effect)) != 0;
      if (is_without_effect && is_known) {
        note(full + " is without effect: llama.cpp does not read it for " + found.type + ".");
      } else {
        file.require(!is_known, printable(full),
                     "be a key that is read for " + found.type +
                         ": its name says that it acts on positions, scores or the mask");
        note(printable(full) + " is not read.");
      }
    }
  }

 private:
  static std::string json_of(gguf_value const& value) {
    if (auto const* const text = std::get_if<std::string>(&value))
      return "\"" + printable(*text) + "\"";
    auto const* const list = std::get_if<gguf_list>(&value);
    if (list == nullptr) return shown_gguf(value);
    std::string result;
    for (auto const x : list->numbers) result += (result.empty() ? "" : ",") + shown(x);
    return "[" + result + "]";
  }
};

}  // namespace detail
}  // namespace posenc
