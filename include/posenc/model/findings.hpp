// What a reader of a model's settings finds: the encoding, and what it assumed, noted and left
// unread.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// The base of both readers, of config.json and of GGUF.
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

}  // namespace detail
}  // namespace posenc
