// posenc: the rule of a bias_table must have double bias(std::size_t head, std::int64_t distance)
// const (site 3) and act nowhere else
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/soft_cap.hpp"

void use() { posenc::bias_table(posenc::soft_cap(5), 1, 10); }
