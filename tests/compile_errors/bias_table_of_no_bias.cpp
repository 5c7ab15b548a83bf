// posenc: the rule of a bias_table must act on scores (site 3) and nowhere else, and say static constexpr bool is_bias = true and
// is_by_distance = true
#include "posenc/score/bias_table.hpp"
#include "posenc/score/soft_cap.hpp"

void use() { posenc::bias_table(posenc::soft_cap(5), 1, 10); }
