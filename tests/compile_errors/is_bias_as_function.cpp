// posenc: is_bias must be: static constexpr bool is_bias, beside adjust_scores
#include "posenc/core/scheme.hpp"

struct wrong {
  void adjust_scores(auto const&) const {}
  bool is_bias() const { return true; }
};

void use() { posenc::scheme{wrong{}}; }
