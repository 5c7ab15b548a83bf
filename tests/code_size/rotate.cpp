// A rotate of one type and one layout, and nothing else.
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void rotate_heads(heads_view<TYPE> const& heads, cos_sin_view<arithmetic_t<TYPE>> const& rows) {
  rotate<LAYOUT>(heads, rows);
}
