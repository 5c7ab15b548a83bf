// posenc: a rotation must be told its pair layout: rotate<halves>(...) or rotate<interleaved>(...)
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(heads_view<float> const& k, heads_view<float> const& to, cos_sin_view<float> const& rows) {
  rotate<halves, int>(k, to, rows);
}
