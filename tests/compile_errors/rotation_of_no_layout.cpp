// posenc: a rotation must be told its pair layout: rotate<halves>(...) or rotate<interleaved>(...)
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(heads_view<float> const& q) { rotated(q); }
