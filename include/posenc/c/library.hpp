// The functions of posenc.h, but for the kernels that they run. One file of a program or library
// includes this header; for each instruction set, one other file includes instruction_set.hpp.
//
//     library.cpp:  #include "posenc/c/library.hpp"
//     base.cpp:     #include "posenc/c/instruction_set.hpp"
//
//     c++ -std=c++20 -O3 -ffp-contract=off -c library.cpp base.cpp
//
// POSENC_KERNELS_V3, POSENC_KERNELS_V4, POSENC_KERNELS_V4_BF16 (x86) and POSENC_KERNELS_BF16 (ARM)
// say which sets there are beside base; POSENC_KERNELS_MODEL, that nlohmann-json is there;
// POSENC_KERNELS_SHARED, that a shared library exports these functions. posenc_add_kernels(), in
// CMake, does all this.
#pragma once

#include "posenc/c/detail/attention.hpp"
#include "posenc/c/detail/attention_gradients.hpp"
#include "posenc/c/detail/caches.hpp"
#include "posenc/c/detail/choice.hpp"
#include "posenc/c/detail/frequencies.hpp"
#include "posenc/c/detail/model.hpp"
#include "posenc/c/detail/rotation.hpp"
#include "posenc/c/detail/rows.hpp"
#include "posenc/core/target.hpp"
