// posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T =
// double
#include "posenc/attention/gradients.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
  void adjust_scores(auto const&) {}
};

void use() {
  float x = 1;
  posenc::heads_view const view(&x, {1, 1, 1});
  posenc::attention_backward(view, view, view, wrong{}, posenc::attention_result<float>(), view);
}
