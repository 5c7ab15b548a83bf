// posenc: is_near must be: bool is_near(std::int64_t query_position, std::int64_t
#include "posenc/core/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"

struct near_alone : posenc::rope<posenc::halves> {
  using rope::rope;
  bool is_near(std::int64_t, std::int64_t) const { return true; }
};

void use() { posenc::scheme{near_alone(posenc::geometric(8, 1e4))}; }
