// posenc: serves_fewer_heads must be: static constexpr bool serves_fewer_heads, beside heads
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  std::size_t heads() const { return 4; }
  bool serves_fewer_heads = true;
};

void use() { posenc::scheme{wrong{}}; }
