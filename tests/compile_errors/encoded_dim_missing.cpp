// posenc: encoded_dim must be: std::size_t encoded_dim(std::size_t head_dim) const
#include "posenc/core/scheme.hpp"

struct wide {
  struct prepared {
    template <class T>
    void encode_queries(posenc::heads_view<T const>, posenc::heads_view<T>, std::size_t,
                        std::size_t) const {}
    template <class T>
    void encode_keys(posenc::heads_view<T const>, posenc::heads_view<T>, std::size_t,
                     std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

void use() { posenc::scheme{wide{}}; }
