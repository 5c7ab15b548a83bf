// Eigen: clang and g++ 12 warn about its code, and g++ about the AVX-512 headers within it.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-variable"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Cholesky>
#pragma GCC diagnostic pop

#include "posenc/core/target.hpp"
