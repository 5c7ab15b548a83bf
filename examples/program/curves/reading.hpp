// What a curve says, in one sentence that is computed from it.
#pragma once

#include <string>

#include "curves.hpp"

namespace curves {

std::string reading(curve const& c, bool random_inputs);

}  // namespace curves
