#include "posenc/core/target.hpp"
#  include <xsimd/xsimd.hpp>
