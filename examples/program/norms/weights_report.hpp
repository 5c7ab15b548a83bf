// Norms of a model's heads by frequency, shown.
#pragma once

#include <iosfwd>
#include <string>

#include "reporting/terminal_chart.hpp"
#include "weights.hpp"

namespace norms {

void print(std::ostream& out, model_of_weights const& m, charts::terminal_style style);
void write_csv(std::ostream& out, model_of_weights const& m);
std::string to_svg(model_of_weights const& m);

}  // namespace norms
