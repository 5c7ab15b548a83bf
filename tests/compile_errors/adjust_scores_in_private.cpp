// posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T =
// double
#include "posenc/core/scheme.hpp"

class wrong {
 public:
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }

 private:
  void adjust_scores(auto const&) const {}
};

void use() { posenc::scheme{wrong{}}; }
