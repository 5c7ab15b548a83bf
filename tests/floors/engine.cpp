// An engine that rotates parses neither Eigen nor the heavy headers of the standard library. No
// precompiled header may hide this.
#include "posenc/adapter/ggml.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"

#if defined(EIGEN_WORLD_VERSION)
#error "rotation/ or adapter/ parses Eigen"
#endif

int main() {}
