// What a curve says, in one sentence that is computed from it.
#pragma once

#include <string>

#include "curves.hpp"

std::string reading(curve const& c, bool random_inputs);
