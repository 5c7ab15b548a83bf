#include "posenc/attention/mask.hpp"
#include "posenc/core/target.hpp"
