// posenc's own answers.
#pragma once

#include <optional>

#include "cases.hpp"

namespace conformance {

/// What posenc gives, computed with heads of the precision.
answers of_posenc(test_case const& c, precision stored);

}  // namespace conformance
