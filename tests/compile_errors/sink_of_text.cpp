// posenc: sink must be: double sink(std::size_t head) const
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  char const* sink(std::size_t) const { return "0"; }
};

void use() { posenc::scheme{wrong{}}; }
