// posenc: elements must be float, double, half, bfloat16 or a type with a storage_format; 16-bit
// words are as<half> or as<bfloat16>
#include "posenc/rotation/rotate.hpp"

using namespace posenc;

void use(std::uint16_t* words, cos_sin_view<float> const& rows) {
  rotate<halves>(heads_view(words, {1, 2, 64}), rows);
}
