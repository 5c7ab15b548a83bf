// posenc: heads that a rotation writes must not be const
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(heads_view<float> const& k, heads_view<half const> const& to,
         cos_sin_view<float> const& rows) {
  rotate<halves>(k, to, rows);
}
