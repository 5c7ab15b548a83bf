// posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T =
// double
#include "posenc/core/scheme.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  void adjust_scores(std::span<float>) const {}
  void adjust_scores(std::span<double>) const {}
};

void use() { posenc::scheme{wrong{}}; }
