# 64-bit ARM. Debian: g++-aarch64-linux-gnu, qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -cpu max,sve-max-vq=2)  # SVE of 256 bits
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
