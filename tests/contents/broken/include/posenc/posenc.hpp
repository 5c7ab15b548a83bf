// contents
#include "posenc/score/listed.hpp"
