// posenc: inverse_temperature must be: double inverse_temperature(row_statistics const& row) const
#include "posenc/softmax/softmax.hpp"

struct wrong {
  double inverse_temperature(posenc::row_statistics const&) { return 1; }
};

void use() {
  std::vector<float> memory, row(3);
  posenc::softmax(std::span(row), wrong{}, memory);
}
