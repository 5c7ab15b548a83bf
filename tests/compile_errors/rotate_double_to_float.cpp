// posenc: heads of double must be rotated to heads of double, others to others
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(heads_view<double> const& k, heads_view<float> const& to,
         cos_sin_view<float> const& rows) {
  rotate<halves>(k, to, rows);
}
