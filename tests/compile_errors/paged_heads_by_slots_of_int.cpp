// posenc: the slots of paged_heads must be of std::int64_t
#include "posenc/core/paged_heads.hpp"

using namespace posenc;

void use(float* pages, std::vector<int> const& slots) { paged_heads(pages, {8, 16, 2, 64}, slots); }
