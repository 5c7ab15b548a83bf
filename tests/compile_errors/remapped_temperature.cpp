// posenc: what is remapped must act on queries and keys (site 2), and nowhere else
#include "posenc/query_key/remapped.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
};

void use() {
  auto const same = [](std::int64_t t) { return t; };
  posenc::remapped(wrong{}, same, same);
}
