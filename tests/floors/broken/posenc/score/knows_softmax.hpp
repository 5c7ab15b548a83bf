#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"
