// posenc: encode_queries must be: void encode_queries(heads_view<T> q, positions_view positions) const, for T = float and T = double,
// beside encode_keys
#include "posenc/core/scheme.hpp"

struct wrong {
  void encode_queries(auto const&, posenc::positions_view) {}
  void encode_keys(auto const&, posenc::positions_view) const {}
};

void use() { posenc::scheme{wrong{}}; }
