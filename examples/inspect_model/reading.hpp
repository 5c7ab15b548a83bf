// What programs read of models: their settings.
#pragma once

#include <string>

#include "posenc/model/model_description.hpp"

/// A config.json or a GGUF file. Throws std::runtime_error that names a directory, or a file that
/// cannot be read; std::invalid_argument as the readers do.
posenc::model_description read_model(std::string const& file, bool as_llama);
