// Keys and values of a model's settings, as both readers look them up, and what they find.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// The most dims, heads or layers that a key may give.
inline constexpr std::size_t most_dims = 65'536;
/// The most tokens: what a double counts exactly, and a size.
inline constexpr auto most_tokens = static_cast<std::size_t>(
    std::min<std::uint64_t>(std::uint64_t{1} << 53, std::numeric_limits<std::size_t>::max()));

/// Look-ups by type, of keys that may be absent. Keys has value_of(key), which is null for an
/// absent key, and refuse(key, must). Values has number_in, whole_in, flag_in and text_in of a
/// value, which are empty for other types.
template <class Keys, class Values = Keys>
class settings {
 public:
  bool has(std::string_view key) const { return self().value_of(key) != nullptr; }

  /// Refuses the key's value unless the condition holds. Throws std::invalid_argument.
  void require(bool holds, std::string_view key, std::string_view must) const {
    if (!holds) self().refuse(key, must);
  }

  /// The value of a key, or nothing where it is absent. Throws std::invalid_argument, as the next
  /// functions do, for a value of another type.
  std::optional<double> number(std::string_view key) const {
    auto const* const value = self().value_of(key);
    if (value == nullptr) return {};
    auto const result = Values::number_in(*value);
    if (!result || !is_finite(*result)) self().refuse(key, "be a finite number");
    return result;
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
  /// A bool; nothing where the key is absent.
  std::optional<bool> flag(std::string_view key) const {
    return of_type<bool>(key, Values::flag_in, "be true or false");
  }
  /// A string, likewise.
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

  /// Records a sentence, once.
  void assume(std::string sentence) { add(found.assumptions, std::move(sentence)); }
  void note(std::string sentence) { add(found.notes, std::move(sentence)); }

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

  bool rotates() const {
    return std::ranges::any_of(found.kinds, [](auto const& kind) { return !kind.rotary.empty(); });
  }

 protected:
  /// `source` ends the sentence "key is not given: value, as ...": "llama.cpp has it for gemma3".
  void take_defaults_from(std::string source) { source_of_defaults_ = std::move(source); }

 private:
  template <class T>
  static void add(std::vector<T>& list, T item) {
    bool const is_new = std::ranges::find(list, item) == list.end();
    if (is_new) list.push_back(std::move(item));
  }

  std::string source_of_defaults_;
};

}  // namespace posenc::detail
