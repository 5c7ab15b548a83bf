// posenc: this type acts nowhere: an encoding must have embed (site 1), prepare (2), bias or
// adjust_scores (3), inverse_temperature or sink (4)
#include "posenc/core/scheme.hpp"

struct wrong {
  void adjust_score(auto const&) const {}
};

void use() { posenc::scheme{wrong{}}; }
