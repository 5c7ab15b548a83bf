// Prints how a model encodes positions.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "posenc/model/model_description.hpp"

std::string grouped(std::size_t number);  ///< 131,072
std::string rounded(double number);       ///< four digits: 0.8729, 54,410, 3.069e-07

struct report_options {
  std::size_t length;      ///< of the sequence, for rules that depend on it
  bool all_pairs = false;  ///< rather than a few
};

void print(std::ostream& os, std::string const& file, posenc::model_description const& model,
           report_options const& options);
