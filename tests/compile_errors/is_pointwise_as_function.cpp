// posenc: is_pointwise must be: static constexpr bool is_pointwise, beside adjust_scores
#include "posenc/core/scheme.hpp"

struct wrong {
  void adjust_scores(auto const&) const {}
  bool is_pointwise() const { return true; }
};

void use() { posenc::scheme{wrong{}}; }
