// posenc: what is remapped must act on queries and keys (site 2), and nowhere else
#include "posenc/core/scheme.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/score/alibi.hpp"

struct turns {
  void encode_queries(auto const&, posenc::positions_view) const {}
  void encode_keys(auto const&, posenc::positions_view) const {}
};

void use() {
  auto const same = [](std::int64_t t) { return t; };
  posenc::remapped(posenc::scheme{turns{}, posenc::alibi(2)}, same, same);
}
