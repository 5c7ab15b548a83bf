# 64-bit RISC-V; xsimd supports only vectors of fixed width. Debian: g++-riscv64-linux-gnu,
# qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64-static)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
