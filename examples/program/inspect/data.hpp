// The same as report.hpp prints, for programs: JSON and CSV.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "posenc/model/model_description.hpp"

namespace inspect {

void print_json(std::ostream& os, std::string const& file, posenc::model_description const& model,
                std::size_t length);
/// The columns of print_csv, in the order of their standard.
std::vector<std::string> const& csv_columns();

/// One line per pair of each kind of layers. Throws std::runtime_error for a column that is not
/// one, with the names of those that are.
void print_csv(std::ostream& os, posenc::model_description const& model, std::size_t length,
               std::vector<std::string> const& columns);

}  // namespace inspect
