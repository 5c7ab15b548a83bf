# 64-bit PowerPC, little endian. Registers are used with xsimd 14. Debian:
# g++-powerpc64le-linux-gnu, qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER powerpc64le-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-ppc64le-static)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
