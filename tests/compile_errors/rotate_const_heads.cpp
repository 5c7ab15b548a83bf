// posenc: heads that a rotation writes must not be const
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(heads_view<float const> const& q, cos_sin_view<float> const& rows) {
  rotate<halves>(q, rows);
}
