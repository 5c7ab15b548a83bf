#include "posenc/rotation/rotate.hpp"
