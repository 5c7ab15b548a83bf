// Prints how a model encodes positions.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "posenc/model/model_description.hpp"

namespace inspect {

/// length: tokens of the sequence, for rules that depend on it.
void print(std::ostream& os, std::string const& file, posenc::model_description const& model,
           std::size_t length);

}  // namespace inspect
