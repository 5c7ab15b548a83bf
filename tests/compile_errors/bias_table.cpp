// posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T =
// double
#include "posenc/score/bias_matrix.hpp"

struct wrong {
  void adjust_scores(posenc::score_row<float>) const {}
};

void use() { posenc::bias_table(wrong{}, 1, 10); }
