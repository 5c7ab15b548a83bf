// posenc: prepare must be: template <class T> auto prepare(positions_view positions) const, for T
// = float and T = double, which returns what has encode_queries and encode_keys
#include "posenc/core/scheme.hpp"

struct wrong {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
  };
  prepared prepare(posenc::positions_view) const { return {}; }
};

void use() { posenc::scheme{wrong{}}; }
