#include "posenc/core/target.hpp"
#  include <xsimd/xsimd.hpp>
inline bool checks(double x) { return std::isfinite(x); }
