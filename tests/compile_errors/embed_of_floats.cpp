// posenc: embed must be: void embed(heads_view<T> x, positions_view positions) const, for T =
// float and T = double
#include "posenc/core/scheme.hpp"

struct wrong {
  void embed(posenc::heads_view<float>, posenc::positions_view) const {}
};

void use() { posenc::scheme{wrong{}}; }
