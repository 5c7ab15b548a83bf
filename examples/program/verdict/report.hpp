// Prints a verdict on a model.
#pragma once

#include <iosfwd>
#include <string>

#include "posenc/model/model_description.hpp"
#include "verdict.hpp"

namespace verdict {

/// One screen. `what` heads the column of names; `conclusion` ends it.
void print(std::ostream& os, std::string const& file, posenc::model_description const& model,
           verdicts::verdict const& found, std::string const& what, std::string const& conclusion);

/// What is known of mistakes: how many.
std::string conclusion_of(verdicts::verdict const& found);

}  // namespace verdict
