// posenc: backward_scores must be: void backward_scores(score_row<T const> before, std::span<T>
// d_scores, std::span<T> d_query) const, for T = float and T = double, beside adjust_scores
#include "posenc/core/scheme.hpp"

struct wrong {
  void adjust_scores(auto const&) const {}
  template <class T>
  void backward_scores(posenc::score_row<T const>, std::span<T>) const {}
};

void use() { posenc::scheme{wrong{}}; }
