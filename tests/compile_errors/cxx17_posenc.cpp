// posenc needs C++20
#include "posenc/posenc.hpp"
