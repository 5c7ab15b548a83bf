// posenc: the rule of a bias_table must have double bias(std::size_t head, std::int64_t distance)
// const (site 3) and act nowhere else
#include "posenc/score/bias_matrix.hpp"

struct wrong {
  double bias(std::size_t, std::int64_t) const { return 0; }
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
};

void use() { posenc::bias_table(wrong{}, 1, 10); }
