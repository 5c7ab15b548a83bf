// posenc: the slots of heads_view must be of std::int64_t
#include "posenc/core/heads_view.hpp"

using namespace posenc;

void use(float* pages, std::vector<int> const& slots) { heads_view(pages, {8, 16, 2, 64}, slots); }
