// posenc: elements must be float, double, half, bfloat16 or a type with a storage_format; 16-bit
// words are as<half> or as<bfloat16>
#include "posenc/core/heads_view.hpp"

using namespace posenc;

void use(std::uint16_t* words, std::span<std::int64_t const> slots) {
  heads_view(words, {8, 16, 2, 64}, slots);
}
