// posenc: dot_products must be of bfloat16, int8_per_head, int8_static, u8_per_head or q8_0
#include "posenc/attention/dot_products.hpp"

void use(posenc::heads_view<float const> const& keys) { posenc::dot_products{keys}; }
