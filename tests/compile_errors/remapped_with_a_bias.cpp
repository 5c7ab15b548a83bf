// posenc: what is remapped must act on queries and keys (site 2), and nowhere else
#include "posenc/core/scheme.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/score/alibi.hpp"

struct turns {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

void use() {
  auto const same = [](std::int64_t t) { return t; };
  posenc::remapped(posenc::scheme{turns{}, posenc::alibi(2)}, same, same);
}
