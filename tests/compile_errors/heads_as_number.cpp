// posenc: heads must be: std::size_t heads() const
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  std::size_t heads = 4;
};

void use() { posenc::scheme{wrong{}}; }
