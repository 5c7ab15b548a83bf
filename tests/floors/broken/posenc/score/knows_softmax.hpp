#include "posenc/softmax/softmax.hpp"
