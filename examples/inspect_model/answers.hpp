// Prints what compare() and identify() found.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "compare.hpp"
#include "identify.hpp"

void print(std::ostream& os, std::string const& a, std::string const& b,
           comparing::model_comparison const& comparison, double threshold);

/// The best explanation with all that belongs to it, and a line for each other one.
void print(std::ostream& os, std::string const& table, std::size_t numbers,
           identifying::identification const& found);
