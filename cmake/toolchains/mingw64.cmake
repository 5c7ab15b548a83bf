# 64-bit Windows, run by Wine. Debian: g++-mingw-w64-x86-64-posix, wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)  # a DLL needs no other
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_COMMAND}" -E env WINEDEBUG=-all "WINEPREFIX=${CMAKE_BINARY_DIR}/wine" wine)
# The stack of Windows is aligned to 16 bytes, and g++ does not align it further: it keeps registers of 32 and 64 bytes there
# by instructions that need it (its bug 54412; Debian's g++ is mended). The assembler writes others.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wa,-muse-unaligned-vector-move>)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
