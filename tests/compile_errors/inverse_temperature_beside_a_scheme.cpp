// posenc: inverse_temperature must be: double inverse_temperature(row_statistics const& row) const
#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"

struct wrong : posenc::scheme<posenc::alibi> {
  wrong() : scheme(posenc::alibi(1)) {}
  double inverse_temperature(posenc::row_statistics const&) { return 2; }
};

void use() { posenc::scheme{wrong{}}; }
