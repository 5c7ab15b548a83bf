// The curves for people to look at and for programs to read.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "experiment.hpp"
#include "reporting/terminal_chart.hpp"

namespace dispersion {

/// Pictures and numbers, as wide as style.columns.
void print(std::ostream& out, std::vector<curve> const& curves, charts::terminal_style style);

/// One line a rule and number of keys.
void write_csv(std::ostream& out, std::vector<curve> const& curves);

/// A chart a rule with its bounds; then largest weight, entropy and beta of all.
std::string to_svg(std::vector<curve> const& curves, std::string const& subtitle);

}  // namespace dispersion
