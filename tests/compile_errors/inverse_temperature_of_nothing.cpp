// posenc: inverse_temperature must be: double inverse_temperature(row_statistics const& row) const
#include "posenc/core/scheme.hpp"

struct wrong {
  void adjust_scores(auto const&) const {}
  void inverse_temperature(posenc::row_statistics const&) const {}
};

void use() { posenc::scheme{wrong{}}; }
