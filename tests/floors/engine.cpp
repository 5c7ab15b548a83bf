// An engine that rotates parses neither Eigen nor, of the standard library, the heavy parts. No precompiled header may hide it.
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"

#if defined(EIGEN_WORLD_VERSION)
#error "rotation/ parses Eigen"
#endif

int main() {}
