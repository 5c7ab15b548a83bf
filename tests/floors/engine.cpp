// An engine that rotates parses neither Eigen nor the heavy headers of the standard library. No
// precompiled header may hide this.
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"

#if defined(EIGEN_WORLD_VERSION)
#error "rotation/ parses Eigen"
#endif

int main() {}
