// A model's description for programs: JSON and CSV.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "posenc/model/model_description.hpp"

namespace inspect {

/// Throws std::runtime_error in a build without nlohmann-json.
void print_json(std::ostream& os, std::string const& file, posenc::model_description const& model,
                std::size_t length);

/// One line per pair of each kind of layers; the wavelength of a pair that does not rotate is empty.
void print_csv(std::ostream& os, posenc::model_description const& model, std::size_t length);

}  // namespace inspect
