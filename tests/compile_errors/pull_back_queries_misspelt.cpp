// posenc: pull_back_queries must be: void pull_back_queries(heads_view<T> d, positions_view positions) const, for T = float and T =
// double, beside pull_back_keys
#include "posenc/core/scheme.hpp"

struct wrong {
  void encode_queries(auto const&, posenc::positions_view) const {}
  void encode_keys(auto const&, posenc::positions_view) const {}
  void pull_back_query(auto const&, posenc::positions_view) const {}
  void pull_back_keys(auto const&, posenc::positions_view) const {}
};

void use() { posenc::scheme{wrong{}}; }
