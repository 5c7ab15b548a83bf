// posenc: prepare must be: template <class T> auto prepare(positions_view positions) const, for T
// = float and T = double, which returns what has encode_queries and encode_keys
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  void backward_queries(auto const&, posenc::positions_view) const {}
  void backward_keys(auto const&, posenc::positions_view) const {}
};

void use() { posenc::scheme{wrong{}}; }
