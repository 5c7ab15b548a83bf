// The kernels of one instruction set. Compiled once for each, with POSENC_KERNELS_SET as its name.
#include "posenc/c/instruction_set.hpp"
