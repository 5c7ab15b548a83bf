// posenc: what prepare returns must have encode_keys: void encode_keys(heads_view<T> k,
// std::size_t first_token) const
#include "posenc/core/scheme.hpp"

struct wrong {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

void use() { posenc::scheme{wrong{}}; }
