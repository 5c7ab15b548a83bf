# cmake -DSOURCE=<the project> -P all.cmake: runs every platform that .ci/run does not, and prints
# the table of their accuracy.

set(platforms aarch64-sve s390x-vector riscv64 ppc64le i686 i686-sse2 wasm32 libcxx x86-64-v2)
file(STRINGS /proc/cpuinfo avx512 REGEX "^flags.* avx512f .*avx512vl" LIMIT_COUNT 1)
if(avx512)
  list(APPEND platforms x86-64-v4 x86-64-v4-256)
else()
  message(STATUS "without AVX-512 x86-64-v4 is left out")
endif()

foreach(platform ${platforms})
  execute_process(COMMAND "${CMAKE_COMMAND}" --workflow --preset ${platform} WORKING_DIRECTORY "${SOURCE}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE)
  string(REGEX MATCH "[^\n ]+ \\| [^\n]*float rows[^\n]*" line "${output}")
  string(APPEND table "${platform} | ${line}\n")
  if(failed)
    list(APPEND broken ${platform})
  endif()
endforeach()
message("${table}")
if(broken)
  message(FATAL_ERROR "failed: ${broken}")
endif()
