# A program of tests for each room, and the targets of labels.

# What is written for the registers of a CPU, of rotation's tests, and what no fuzz target moves.
set(of_kernel kernel memory relayout rotate_bits rotate_bfloat16)
list(TRANSFORM of_kernel REPLACE "(.+)" "rotation/\\1_test.cpp")
# Formats, what reads them, and the registers of both.
set(of_cache cache/*_test.cpp decode/*_test.cpp simd/*_test.cpp)

# The preset test is at -Og, where POSENC_CALLS keeps calls calls. g++ compiles a room there as quickly as at -O0, or takes a
# quarter longer, and its tests run in a third to a sixth of the time. The rooms `inlined` compute for longest. g++ inlines
# xsimd's operators in them, because it precompiles their header at -O1: attention takes 44 + 6 CPU s of a Zen 5 to compile and
# to run, and 46 + 14 otherwise. Other rooms lose by it: rotation takes 43 + 3, and 28 + 6 otherwise. asan is at -O0, and compiles
# `inlined` and `optimised` at -Og, which is clang's -O1. There rows would take 28 + 1 instead of 7 + 5.
set(inlined attention adapter)
set(optimised)
if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}" MATCHES "-O0")
  set(optimised ${inlined} rotation analysis cache)
elseif(CMAKE_CXX_FLAGS_RELEASE MATCHES "-Og")
  set(optimised ${inlined})
endif()

# posenc_label(LABELS FOLDER...): tests and targets of these folders of tests/ have the labels.
function(posenc_label labels)
  foreach(folder IN LISTS ARGN)
    add_subdirectory("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${folder}" "${folder}")
    set_property(DIRECTORY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${folder}" PROPERTY LABELS ${labels})
    get_property(targets DIRECTORY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    foreach(label IN LISTS labels)
      if(targets)
        add_dependencies(${label} ${targets})
      endif()
    endforeach()
  endforeach()
endfunction()

# posenc_every_header(NAME [FILE...]): every header but the readers of config.json, compiled as one file, and these files.
function(posenc_every_header name)
  file(GLOB_RECURSE headers RELATIVE "${PROJECT_SOURCE_DIR}/include" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.hpp")
  list(FILTER headers EXCLUDE REGEX "model/hugging_face")
  list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"")
  list(JOIN headers "\n" headers)
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "@headers@\n" @ONLY)
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" ${ARGN})
  target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU,Clang>:-O0>")
  target_link_libraries(${name} PRIVATE posenc::posenc)
endfunction()

# One file's function may have the name of another's argument. g++ 12 warns of its own AVX-512 headers within Eigen, and would
# collect garbage again and again where a room is one file: up to 1 GB it need not (a twentieth of its time).
set(of_tests -Wno-shadow
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized;SHELL:--param ggc-min-heapsize=1000000>")
# What most tests include is compiled once, and once more for optimised rooms.
file(CONFIGURE OUTPUT precompiled.cpp CONTENT "" @ONLY)
foreach(precompiled posenc_tests_precompiled posenc_tests_precompiled_optimised)
  add_library(${precompiled} OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
  target_link_libraries(${precompiled} PRIVATE posenc::posenc ${gtest})
  target_compile_options(${precompiled} PRIVATE ${of_tests})
  target_precompile_headers(${precompiled} PRIVATE <gtest/gtest.h> <xsimd/xsimd.hpp>)
endforeach()
target_compile_options(posenc_tests_precompiled_optimised PRIVATE -O1)
target_compile_definitions(posenc_tests_precompiled_optimised PRIVATE POSENC_CALLS)

# posenc_test_room(ROOM LABELS LABEL... [FILES FILE...]): the program posenc_ROOM_tests, of the room's tests or of these files.
# Its tests are labelled with the room too: ctest ends with the time that each label took.
function(posenc_test_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;FILES")
  if(NOT arg_FILES)
    set(arg_FILES ${room}/*_test.cpp)
  endif()
  list(TRANSFORM arg_FILES PREPEND "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${arg_FILES})
  set(program posenc_${room}_tests)
  add_executable(${program} ${sources})
  target_include_directories(${program} PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  target_link_libraries(${program} PRIVATE posenc::posenc ${gtest})
  if(room STREQUAL "model")
    target_link_libraries(${program} PRIVATE posenc::model)
    target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/examples")
  endif()
  # Tests of a room instantiate the same templates: its files are compiled as one. For mutants, each is a program.
  if(NOT POSENC_MUTATION)
    set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  target_compile_options(${program} PRIVATE ${of_tests})
  if(room IN_LIST optimised)
    target_compile_options(${program} PRIVATE -Og)
    target_compile_definitions(${program} PRIVATE POSENC_CALLS)
  endif()
  if(room STREQUAL "scalar")
    target_precompile_headers(${program} PRIVATE <gtest/gtest.h>)
  elseif(room IN_LIST optimised)
    target_precompile_headers(${program} REUSE_FROM posenc_tests_precompiled_optimised)
  else()
    target_precompile_headers(${program} REUSE_FROM posenc_tests_precompiled)
  endif()
  foreach(label IN LISTS arg_LABELS)
    add_dependencies(${label} ${program})
  endforeach()

  # A process for each test, or POSENC_TEST_PROCESSES in all, where a process takes long to start.
  if(NOT POSENC_TEST_PROCESSES)
    gtest_discover_tests(${program} TEST_LIST ${program})
    file(CONFIGURE OUTPUT ${program}_labels.cmake @ONLY
      CONTENT "if(@program@)\n  set_tests_properties(\${@program@} PROPERTIES LABELS \"@arg_LABELS@;@room@\")\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${CMAKE_CURRENT_BINARY_DIR}/${program}_labels.cmake")
    return()
  endif()
  math(EXPR last "${POSENC_TEST_PROCESSES} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${room}.${shard} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${room}.${shard} PROPERTIES LABELS "${arg_LABELS};${room}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${POSENC_TEST_PROCESSES};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
