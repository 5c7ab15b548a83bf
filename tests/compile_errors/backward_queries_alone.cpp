// posenc: backward_keys of what prepare returns must be: void backward_keys(heads_view<T> d,
// std::size_t first_token) const, beside backward_queries
#include "posenc/core/scheme.hpp"

struct wrong {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
    void backward_queries(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

void use() { posenc::scheme{wrong{}}; }
