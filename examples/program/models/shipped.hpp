// The settings of the models of examples/models, which CMake writes into the program.
#pragma once

#include <span>
#include <string_view>

namespace program {

struct shipped_model {
  std::string_view name, text;  ///< text: its config.json
};

std::span<shipped_model const> all_shipped_models();

}  // namespace program
