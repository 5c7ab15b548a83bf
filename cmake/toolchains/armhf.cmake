# 32-bit ARM. NEON (-mfpu=neon) has registers of floats, not of doubles. Debian:
# g++-arm-linux-gnueabihf, qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm-static)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
