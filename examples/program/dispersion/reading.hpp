// What the numbers say, in sentences.
#pragma once

#include <string>
#include <vector>

#include "experiment.hpp"

namespace dispersion {

/// One about the bounds, and one a rule. eps: the weight that is too small to be sharp, between 0
/// and 1.
std::vector<std::string> readings(std::vector<curve> const& curves, settings const& s, double eps);

}  // namespace dispersion
