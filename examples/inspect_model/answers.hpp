// Prints what compare() and identify() found.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "posenc/analysis/compare.hpp"
#include "posenc/analysis/identify.hpp"

void print(std::ostream& os, std::string const& a, std::string const& b,
           posenc::model_comparison const& comparison, double threshold);

/// The best explanation with all that belongs to it, and a line for each other one.
void print(std::ostream& os, std::string const& table, std::size_t numbers,
           posenc::identification const& found);
