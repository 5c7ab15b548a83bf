// The functions of posenc.h. Compiled once, for the least of the library's instruction sets.
#include "posenc/c/library.hpp"
