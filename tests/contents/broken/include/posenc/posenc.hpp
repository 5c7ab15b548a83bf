// contents
#include "posenc/frequency/untold_rule.hpp"  // a rule
#include "posenc/score/gone.hpp"  // a header that is not there
#include "posenc/score/listed.hpp"
#include "posenc/softmax/claims_nothing.hpp"  // nothing
#include "posenc/softmax/untested.hpp"        // a rule
