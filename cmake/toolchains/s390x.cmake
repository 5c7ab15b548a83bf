# IBM Z: big endian. Registers are used with xsimd 14.2 or newer and -march=z14 -mzvector. Debian:
# g++-s390x-linux-gnu, qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER s390x-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-s390x-static)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
