// Prints a verdict on a model.
#pragma once

#include <iosfwd>
#include <string>

#include "posenc/model/model_description.hpp"
#include "verdict/verdict.hpp"

/// One screen.
void print(std::ostream& os, std::string const& file, posenc::model_description const& model,
           verdicts::verdict const& found);
