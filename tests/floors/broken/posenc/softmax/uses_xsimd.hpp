#  include <xsimd/xsimd.hpp>
