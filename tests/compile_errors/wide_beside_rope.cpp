// posenc: an encoding that changes head_dim, or takes scores near and far, must be the only one
#include "posenc/core/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"

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
  std::size_t encoded_dim(std::size_t head_dim) const { return 2 * head_dim; }
};

void use() { posenc::scheme{wide{}, posenc::rope<posenc::halves>(posenc::geometric(8, 1e4))}; }
