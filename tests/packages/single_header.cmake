# The single header of posenc::rotation: made twice it is the same; it begins with version and
# licence; it includes no other header of posenc; a file with both is told so; and a program that has
# it alone computes what one with posenc's own headers does. Run with cmake -P and: SOURCE, the
# checkout; BUILD, a configured build of it; COMPILER; XSIMD, the directory of its headers.
cmake_policy(VERSION 3.25)
set(room "${BUILD}/single_header")
file(REMOVE_RECURSE "${room}" "${BUILD}/single-header")
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target single-header OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(made "${BUILD}/single-header/posenc_rotation.hpp")
file(COPY "${SOURCE}/include" "${SOURCE}/LICENSE" DESTINATION "${room}/elsewhere")
execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${room}/elsewhere" "-DOUTPUT=${room}/again.hpp" -P "${SOURCE}/cmake/single_header.cmake"
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE "${room}/elsewhere")
file(SHA256 "${made}" first)
file(SHA256 "${room}/again.hpp" second)
if(NOT first STREQUAL second)
  message(FATAL_ERROR "made twice, ${made} and ${room}/again.hpp differ")
endif()

file(STRINGS "${made}" included REGEX "include.*[\"<]posenc")
if(included)
  message(FATAL_ERROR "${made} includes what is not beside it: ${included}")
endif()
file(STRINGS "${SOURCE}/LICENSE" license)
file(STRINGS "${made}" top LIMIT_COUNT 40)
foreach(line IN LISTS license)
  string(FIND "${top}" "${line}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${made} does not begin with the licence; it lacks: ${line}")
  endif()
endforeach()

foreach(order "posenc_rotation.hpp;posenc/rotation/rotate.hpp" "posenc/rotation/rotate.hpp;posenc_rotation.hpp")
  list(TRANSFORM order REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
  string(REPLACE ";" "" lines "${lines}")
  file(WRITE "${room}/both.cpp" "${lines}")
  execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-I${XSIMD}" "-I${BUILD}/single-header" "-I${SOURCE}/include" "${room}/both.cpp"
    ERROR_VARIABLE errors)
  string(REGEX MATCH "[^\n]*error[^\n]*" first "${errors}")
  if(NOT first MATCHES "a file includes posenc_rotation.hpp or headers of posenc/, not both")
    message(FATAL_ERROR "a file that includes ${order} must be told so first, is told\n${errors}")
  endif()
endforeach()

execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${XSIMD}" "-I${BUILD}/single-header" "${SOURCE}/tests/packages/single_header.cpp"
  -o "${room}/single" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${COMPILER}" -std=c++20 -DSEVERAL "-I${XSIMD}" "-I${SOURCE}/include" "${SOURCE}/tests/packages/single_header.cpp"
  -o "${room}/several" COMMAND_ERROR_IS_FATAL ANY)
foreach(program single several)
  execute_process(COMMAND "${room}/${program}" OUTPUT_VARIABLE ${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT single STREQUAL several)
  message(FATAL_ERROR "the program with the single header prints\n${single}with posenc's own headers\n${several}")
endif()
string(REGEX MATCH "^[0-9.]+" version "${single}")
if(NOT top MATCHES "^// posenc ${version}: ")
  message(FATAL_ERROR "${made} must begin with version ${version}: ${top}")
endif()
