// Keys of a model's settings, as both readers look them up, and what they find: kinds of layers.
#pragma once

#include <algorithm>
#include <limits>

#include "posenc/core/target.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The most dims, heads or layers that a key may give.
inline constexpr std::size_t most_dims = 65'536;
/// The most tokens: what a double counts exactly, and a size.
inline constexpr auto most_tokens = static_cast<std::size_t>(
    std::min<std::uint64_t>(std::uint64_t{1} << 53, std::numeric_limits<std::size_t>::max()));

/// Whether a list holds an item.
bool contains(auto const& list, auto const& item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

/// The words of a list with spaces between them.
inline std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> result;
  while (!list.empty()) {
    result.push_back(list.substr(0, list.find(' ')));
    list.remove_prefix(std::min(list.size(), result.back().size() + 1));
  }
  return result;
}

/// The record of a table with a word in one of its lists; null if there is none.
template <class Record>
Record const* record_of(auto const& table, std::string_view Record::*list, std::string_view word) {
  for (auto const& record : table)
    if (contains(words_of(record.*list), word)) return &record;
  return nullptr;
}

/// A number that JSON or a list of GGUF holds, if it is whole and from 0 to `most`.
inline std::optional<std::size_t> whole_number(double x, std::uint64_t most) {
  bool const fits = x >= 0 && x <= static_cast<double>(most) && x == std::floor(x);
  return fits ? std::optional(static_cast<std::size_t>(x)) : std::nullopt;
}

/// Ends the error for a key that was not read.
inline constexpr auto says_that_it_acts =
    ": its name says that it acts on positions, scores or the mask";

/// Look-ups by type, empty for an absent key. They throw std::invalid_argument for another type.
/// Keys has value_of(key), or null, and refuse(key, must). Values has number_in, whole_in, flag_in
/// and text_in of a value, which are empty for other types.
template <class Keys, class Values = Keys>
class settings {
 public:
  bool has(std::string_view key) const { return self().value_of(key) != nullptr; }

  /// Refuses the key's value unless the condition holds. Throws std::invalid_argument.
  void require(bool holds, std::string_view key, std::string_view must) const {
    if (!holds) self().refuse(key, must);
  }

  /// Refuses an absent value.
  template <class T>
  T needed(std::optional<T> given, std::string_view key, std::string_view must = "be given") const {
    if (!given) self().refuse(key, must);
    return *std::move(given);
  }

  std::optional<double> number(std::string_view key) const {
    auto const finite = [](auto const& value) {
      auto const x = Values::number_in(value);
      return x && is_finite(*x) ? x : std::nullopt;
    };
    return of_type<double>(key, finite, "be a finite number");
  }
  /// A number above 0.
  std::optional<double> positive(std::string_view key,
                                 std::string_view must = "be positive") const {
    auto const given = number(key);
    require(!given || *given > 0, key, must);
    return given;
  }
  /// A base of frequencies.
  std::optional<double> above_one(std::string_view key) const {
    auto const given = number(key);
    require(!given || *given > 1, key, "be above 1");
    return given;
  }
  /// A whole number from least to most.
  std::optional<std::size_t> count(std::string_view key, std::uint64_t least,
                                   std::uint64_t most) const {
    auto const* const value = self().value_of(key);
    if (value == nullptr) return {};
    auto const whole = Values::whole_in(*value);
    require(whole && *whole >= least && *whole <= most, key,
            "be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<std::size_t>(*whole);
  }
  std::optional<std::size_t> count(std::string_view key, std::uint64_t most) const {
    return count(key, 1, most);
  }
  std::optional<bool> flag(std::string_view key) const {
    return of_type<bool>(key, Values::flag_in, "be true or false");
  }
  std::optional<std::string> text(std::string_view key) const {
    return of_type<std::string>(key, Values::text_in, "be a string");
  }

 private:
  Keys const& self() const { return static_cast<Keys const&>(*this); }
  template <class T>
  std::optional<T> of_type(std::string_view key, auto read, std::string_view must) const {
    auto const* const value = self().value_of(key);
    if (value == nullptr) return {};
    std::optional<T> result = read(*value);
    if (!result) self().refuse(key, must);
    return result;
  }
};

/// The base of both readers: the encoding, and what was assumed, noted and left unread.
class findings {
 public:
  model_description found = {};

  /// Records a sentence, once. An empty one is none.
  void assume(std::string sentence) { add(found.assumptions, std::move(sentence)); }
  void note(std::string_view sentence) {
    if (!sentence.empty()) add(found.notes, std::string(sentence));
  }

  /// Records a default that stands for an absent key, with a sentence about it.
  void assume(std::string const& key, auto const& value, std::string sentence) {
    add(found.assumed, model_setting{key, shown(value)});
    assume(std::move(sentence));
  }
  /// Records a key that is given and not used.
  void ignore(model_setting setting) { add(found.ignored, std::move(setting)); }

  /// Records that `key` is absent, and returns the default that is used instead.
  template <class T>
  T assumed(std::string const& key, T value) {
    assume(key, value,
           key + " is not given: " + shown(value) + ", as " + source_of_defaults_ + ".");
    return value;
  }
  /// The value that is given, or a default that is recorded.
  template <class T>
  T or_assumed(std::optional<T> const& given, std::string const& key, T value) {
    return given ? *given : assumed(key, value);
  }

  bool rotates() const {
    return std::ranges::any_of(found.kinds, [](auto const& kind) { return !kind.rotary.empty(); });
  }

 protected:
  /// `source` ends the sentence "key is not given: value, as ...": "llama.cpp has it for gemma3".
  void take_defaults_from(std::string source) { source_of_defaults_ = std::move(source); }

 private:
  template <class T>
  static void add(std::vector<T>& list, T item) {
    if (!contains(list, item)) list.push_back(std::move(item));
  }

  std::string source_of_defaults_;
};

/// Types of layers, in Hugging Face's words.
inline constexpr std::string_view full_attention = "full_attention",
                                  sliding_attention = "sliding_attention",
                                  chunked_attention = "chunked_attention",
                                  linear_attention = "linear_attention",
                                  cross_attention = "cross_attention",
                                  no_attention = "no_attention",
                                  compressed_sparse_attention = "compressed_sparse_attention",
                                  heavily_compressed_attention = "heavily_compressed_attention";

using layer_types = std::vector<std::string>;

/// Full attention in one of n layers, the last or that with index `first`; `others` elsewhere.
/// For n = 0 it is nowhere.
inline layer_types full_every(std::size_t layers, std::size_t n, std::string_view others,
                              std::optional<std::size_t> first = {}) {
  layer_types types(layers, std::string(others));
  for (auto i = first.value_or(n - 1); n != 0 && i < layers; i += n) types[i] = full_attention;
  return types;
}

/// What is known of a layer before the keys of its type are read.
struct scheduled_layer {
  std::string type;
  bool attends = true, rotates = true, sinks = false, has_index = true;
  std::string name = attends && !rotates ? type + ", NoPE" : type;  ///< of its kind
  double base = 0;            ///< of its frequencies; 0: as other keys say
  double partial = 0;         ///< the part of a head that rotates; 0: as other keys say
  bool shares_index = false;  ///< it sees the keys that an earlier layer chose

  bool operator==(scheduled_layer const&) const = default;
};

/// The kinds of layers. Equal layers share one, which read(kind, layer) fills.
inline std::vector<layer_description> kinds_of(std::vector<scheduled_layer> const& layers,
                                               auto const& read) {
  std::vector<layer_description> kinds;
  std::vector<scheduled_layer> seen;  // one for each kind
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const index = static_cast<std::size_t>(std::ranges::find(seen, layers[i]) - seen.begin());
    if (index == seen.size()) {
      layer_description kind{.name = layers[i].name};
      read(kind, layers[i]);
      kinds.push_back(std::move(kind));
      seen.push_back(layers[i]);
    }
    kinds[index].layers.push_back(i);
  }
  return kinds;
}

/// Says in config.found.key_layers that each layer from `first` on sees the keys of the last layer
/// before `first` that has its type. False, and nothing said, if no layer there has its type.
inline bool share_keys(findings& config, std::vector<scheduled_layer> const& layers,
                       std::size_t first) {
  std::string text;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto from = std::min(i + 1, first);
    while (from > 0 && layers[from - 1].type != layers[i].type) --from;
    if (from == 0) return false;
    all.push_back(from - 1);
    auto const words = layers[i].type + " sees those of layer " + shown(from - 1);
    if (i >= first && text.find(words) == text.npos)
      text += (text.empty() ? " write no keys or values: " : ", ") + words;
  }
  config.note("Layers from " + shown(first) + " on" + text + ".");
  config.found.key_layers = std::move(all);
  return true;
}

}}}  // namespace posenc::detail
