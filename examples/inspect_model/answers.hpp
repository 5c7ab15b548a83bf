// Prints what compare() found.
#pragma once

#include <iosfwd>
#include <string>

#include "posenc/analysis/compare.hpp"

void print(std::ostream& os, std::string const& a, std::string const& b,
           posenc::model_comparison const& comparison, double threshold);
