// posenc: rows must be of double for heads of double, and of float for all others
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(heads_view<half> const& q, cos_sin_view<double> const& rows) {
  rotate(rows, rotated<halves>(q));
}
