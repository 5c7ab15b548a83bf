# What may differ on a platform, in few programs of few processes: an emulator takes long to start.

# Runs platforms one after another (run.cmake has the table): those of CI, and the others.
foreach(which emulated platforms)
  add_custom_target(${which} COMMAND "${CMAKE_COMMAND}" -DWHICH=${which} "-DSOURCE=${PROJECT_SOURCE_DIR}" -P "${CMAKE_CURRENT_LIST_DIR}/run.cmake"
    USES_TERMINAL VERBATIM COMMENT "")
endforeach()

# The accuracy that the library promises, as one line of a table.
add_executable(accuracy platforms/accuracy.cpp)
target_include_directories(accuracy PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(accuracy PRIVATE posenc::posenc)
# g++ 12 warns of its own AVX-512 headers.
target_compile_options(accuracy PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
add_test(NAME accuracy COMMAND accuracy)
foreach(label memory registers bytes)
  add_dependencies(${label} accuracy)
endforeach()
set_tests_properties(accuracy PROPERTIES LABELS "memory;registers;bytes")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "wasm32")
  return()  # the tests throw, and WASI has no exceptions
endif()

# GoogleTest for the platform, built from its sources.
set(POSENC_GOOGLETEST_SOURCE "/usr/src/googletest/googletest" CACHE PATH "GoogleTest's sources (Debian: googletest)")
add_library(posenc_googletest STATIC "${POSENC_GOOGLETEST_SOURCE}/src/gtest-all.cc" "${POSENC_GOOGLETEST_SOURCE}/src/gtest_main.cc")
target_compile_features(posenc_googletest PUBLIC cxx_std_20)
target_compile_options(posenc_googletest PRIVATE -w -O0)
target_include_directories(posenc_googletest SYSTEM PUBLIC "${POSENC_GOOGLETEST_SOURCE}/include" PRIVATE "${POSENC_GOOGLETEST_SOURCE}")
find_package(Threads REQUIRED)
target_link_libraries(posenc_googletest PUBLIC Threads::Threads)

set(gtest posenc_googletest)
include(rooms.cmake)
posenc_every_header(posenc_headers)
add_dependencies(bytes posenc_headers)
posenc_test_room(rows LABELS memory registers)
posenc_test_room(cache LABELS memory registers FILES ${of_cache})
posenc_test_room(kernel LABELS registers FILES ${of_kernel})
foreach(room core rotation adapter attention)
  posenc_test_room(${room} LABELS memory)
endforeach()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  posenc_label(registers kernels)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(armv7|s390x|riscv64)$")  # x87 rounds the program's own numbers otherwise
  posenc_label("memory;bytes" kernels)
endif()
if(WIN32)
  posenc_label(memory kernels)
  foreach(program posenc_rotation_tests posenc_attention_tests)
    add_test(NAME stack.${program} COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DOBJDUMP=${CMAKE_OBJDUMP}"
      -P "${CMAKE_CURRENT_LIST_DIR}/stack.cmake")
    set_tests_properties(stack.${program} PROPERTIES LABELS memory)
  endforeach()
endif()
