// Prints how a model encodes positions.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "posenc/model/model_description.hpp"

namespace inspect {

struct report_options {
  std::size_t length;      ///< of the sequence, for rules that depend on it
  bool all_pairs = false;  ///< rather than a few
};

void print(std::ostream& os, std::string const& file, posenc::model_description const& model,
           report_options const& options);

}  // namespace inspect
