// posenc: dot_products must be of bfloat16, int8_per_head, int8_static or u8_per_head
#include "posenc/attention/dot_products.hpp"

void use(posenc::heads_view<float const> const& keys) { posenc::dot_products{keys}; }
