#include "posenc/analysis/context_bound.hpp"
#include "posenc/core/target.hpp"
