// posenc: bias must be: double bias(std::size_t head, std::int64_t distance) const, or double
// bias(std::size_t head, std::int64_t query_position, std::int64_t key_position) const
#include "posenc/core/scheme.hpp"

struct wrong {
  double bias(std::int64_t distance) const { return -static_cast<double>(distance); }
};

void use() { posenc::scheme{wrong{}}; }
