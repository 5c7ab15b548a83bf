#include "posenc/core/target.hpp"
#include "posenc/rotation/rotate.hpp"
