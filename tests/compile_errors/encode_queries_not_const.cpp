// posenc: what prepare returns must have encode_queries: void encode_queries(heads_view<T> q,
// std::size_t first_token) const
#include "posenc/core/scheme.hpp"

struct wrong {
  struct prepared {
    void encode_queries(auto const&, std::size_t) {}
    void encode_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

void use() { posenc::scheme{wrong{}}; }
