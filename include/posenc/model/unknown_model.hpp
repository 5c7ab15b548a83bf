// What the readers of models' settings do with a model that they do not know.
#pragma once

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// What to do with a model_type or general.architecture that is not known.
///
///     read_gguf("newcomer.gguf", {.unknown = posenc::unknown_model::as_llama})
enum class unknown_model {
  refused,  ///< it is an error
  as_llama  ///< it is read with Llama's layout of pairs, and Llama's defaults for absent keys
};

}  // namespace posenc
