// posenc: pull_back_keys must be: void pull_back_keys(heads_view<T> d, positions_view positions) const, for T = float and T = double,
// beside pull_back_queries, encode_queries and encode_keys
#include "posenc/core/scheme.hpp"

struct wrong {
  void encode_queries(auto const&, posenc::positions_view) const {}
  void encode_keys(auto const&, posenc::positions_view) const {}
  void pull_back_queries(auto const&, posenc::positions_view) const {}
};

void use() { posenc::scheme{wrong{}}; }
