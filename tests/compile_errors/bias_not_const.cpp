// posenc: bias must be: double bias(std::size_t head, std::int64_t distance) const, or double
// bias(std::size_t head, std::int64_t query_position, std::int64_t key_position) const
#include "posenc/core/scheme.hpp"

struct wrong {
  double bias(std::size_t, std::int64_t) { return 1; }
};

void use() { posenc::scheme{wrong{}}; }
