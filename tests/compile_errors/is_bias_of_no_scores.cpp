// posenc: is_bias must be: static constexpr bool is_bias, beside adjust_scores
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  static constexpr bool is_bias = true;
};

void use() { posenc::scheme{wrong{}}; }
