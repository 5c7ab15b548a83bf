// posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T =
// double
#include "posenc/core/scheme.hpp"

struct wrong {
  void adjust_scores(posenc::score_row<float>) const {}
};

void use() { posenc::scheme{wrong{}}; }
