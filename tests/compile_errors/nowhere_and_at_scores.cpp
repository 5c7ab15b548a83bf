// posenc: is_nowhere must not be true of an encoding that acts at a site
#include "posenc/core/scheme.hpp"

struct wrong {
  static constexpr bool is_nowhere = true;
  void adjust_scores(auto const&) const {}
};

void use() { posenc::scheme{wrong{}}; }
