// posenc: inverse_temperature must be: double inverse_temperature(row_statistics const& row) const
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature = 2;
};

void use() { posenc::scheme{wrong{}}; }
