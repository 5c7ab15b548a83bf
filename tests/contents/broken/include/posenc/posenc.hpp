// contents
#include "posenc/score/listed.hpp"
#include "posenc/softmax/claims_nothing.hpp"
