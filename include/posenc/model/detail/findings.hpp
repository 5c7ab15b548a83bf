// The findings of a reader of a file.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/settings.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The description, with what was assumed, noted and left unread.
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

}}}  // namespace posenc::detail
