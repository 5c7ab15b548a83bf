// Where in a config.json the model of text is. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/json_object.hpp"

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
    if (!found) found = std::move(inner), first = key;
  }
  return found.value_or(model);
}

}}}  // namespace posenc::detail
