// posenc: the rule of a bias_table must act on scores (site 3) and nowhere else, and say static constexpr bool is_bias = true and
// is_by_distance = true
#include "posenc/score/bias_table.hpp"

struct wrong {
  static constexpr bool is_bias = true, is_by_distance = true;
  void adjust_scores(auto const&) const {}
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
};

void use() { posenc::bias_table(wrong{}, 1, 10); }
