# Configures, builds and tests platforms, each in build/platforms/NAME, and prints the table of their accuracy:
#     cmake -DWHICH=NAME -DSOURCE=CHECKOUT -P run.cmake      WHICH may also be `emulated` (those of CI) or `platforms` (the others)
cmake_policy(VERSION 3.25)

# Name, processor (a file of cmake/toolchains; empty: this one), options of the compiler, other settings.
set(aarch64 aarch64 "-Wno-psabi" "")
set(armhf armhf "-mfpu=neon -Wno-psabi" "")  # NEON, registers of floats only
set(s390x s390x "" "")                       # big endian
set(aarch64-sve aarch64 "-march=armv8.2-a+sve -msve-vector-bits=256 -Wno-psabi" "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")  # xsimd 9
set(s390x-vector s390x "-march=z14 -mzvector -DEIGEN_DONT_VECTORIZE" "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")             # xsimd 14.2
set(riscv64 riscv64 "" "")
set(ppc64le ppc64le "-Wno-psabi" "")         # VSX, xsimd 14
set(i686 i686 "-ffloat-store" "")            # x87: every result is rounded to double
set(i686-sse2 i686 "-msse2 -mfpmath=sse" "")
set(wasm32 wasm32 "-fno-exceptions" "")      # run by node
set(windows-v3 mingw64 "-march=x86-64-v3" "")  # g++ of MinGW, run by Wine
set(windows-v4 mingw64 "-march=x86-64-v4" "")
set(libcxx "" "-stdlib=libc++" "-DCMAKE_CXX_COMPILER=clang++-16")
set(x86-64-v2 "" "-march=x86-64-v2" "")
set(x86-64-v4 "" "-march=x86-64-v4" "")
set(x86-64-v4-256 "" "-march=x86-64-v4 -DXSIMD_DEFAULT_ARCH=xsimd::avx2" "")  # registers of 256 bits, xsimd 11.2
set(emulated aarch64 s390x armhf)
set(platforms armhf s390x aarch64-sve s390x-vector riscv64 ppc64le i686 i686-sse2 wasm32 libcxx x86-64-v2 windows-v3)
set(warnings "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Werror")

set(names ${WHICH})
if(WHICH MATCHES "^(emulated|platforms)$")
  set(names ${${WHICH}})
endif()
if(WHICH STREQUAL "platforms")
  file(STRINGS /proc/cpuinfo avx512 REGEX "^flags.* avx512f .*avx512vl" LIMIT_COUNT 1)
  if(avx512)
    list(APPEND names x86-64-v4 x86-64-v4-256 windows-v4)
  else()
    message(STATUS "without AVX-512 x86-64-v4 and windows-v4 are left out")
  endif()
endif()
foreach(name IN LISTS names)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "${name} must be a platform of run.cmake, emulated or platforms")
  endif()
  list(GET ${name} 0 processor)
  list(GET ${name} 1 flags)
  list(GET ${name} 2 settings)
  if(processor)
    list(APPEND settings "-DCMAKE_TOOLCHAIN_FILE=${SOURCE}/cmake/toolchains/${processor}.cmake")
  endif()
  set(build "${SOURCE}/build/platforms/${name}")
  set(label memory)
  if(WHICH STREQUAL "emulated")  # what differs most, for CI's minutes
    set(label bytes)
    if(name STREQUAL "aarch64")
      set(label registers)
    endif()
  endif()
  set(output "")
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}" -B "${build}" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=${warnings}"
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG ${flags}" -DPOSENC_TEST_PLATFORM=ON -DPOSENC_TEST_PROCESSES=2 -DPOSENC_BUILD_EXAMPLES=OFF -DPOSENC_INSTALL=OFF
    ${settings} RESULT_VARIABLE failed OUTPUT_QUIET)
  if(NOT failed)
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${build}" --target ${label} RESULT_VARIABLE failed)
  endif()
  if(NOT failed)
    execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${build}" -j2 -V -L ${label} --no-tests=error RESULT_VARIABLE failed OUTPUT_VARIABLE output)
    string(REGEX REPLACE "\n[^\n]*\\[ +(OK|RUN) [^\n]*" "" shown "${output}")
    message("${shown}")
  endif()
  string(REGEX MATCH "[^\n ]+ \\| [^\n]*float rows[^\n]*" line "${output}")
  string(APPEND table "${name} | ${line}\n")
  if(failed)
    list(APPEND broken ${name})
  endif()
endforeach()
message("${table}")
if(broken)
  message(FATAL_ERROR "failed: ${broken}")
endif()
