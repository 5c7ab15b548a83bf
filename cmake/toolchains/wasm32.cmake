# WebAssembly with WASI, without exceptions (-fno-exceptions), run by node. Debian: clang-16,
# lld-16, wasi-libc, nodejs, libc++-16-dev-wasm32, libc++abi-16-dev-wasm32,
# libclang-rt-16-dev-wasm32, and libc++-16-dev: clang looks for /usr/include/c++/v1 to learn which
# libc++ there is.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-16)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-warnings --experimental-wasi-unstable-preview1 "${CMAKE_CURRENT_LIST_DIR}/wasi.mjs")
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
