// posenc: encode_keys must be: void encode_keys(heads_view<T> k, positions_view positions) const, for T = float and T = double, beside
// encode_queries
#include "posenc/query_key/remapped.hpp"

struct wrong {
  void encode_queries(auto const&, posenc::positions_view) const {}
};

void use() {
  auto const same = [](std::int64_t t) { return t; };
  posenc::remapped(wrong{}, same, same);
}
