// Stands for reading.cpp in a build without nlohmann-json.
#include <stdexcept>

#include "program/models/reading.hpp"

namespace program {

std::vector<std::string> shipped_models() { return {}; }

posenc::model_description read_model(std::string const&, std::optional<bool>) {
  throw std::runtime_error("this posenc was built without nlohmann-json, which reads models");
}

}  // namespace program
