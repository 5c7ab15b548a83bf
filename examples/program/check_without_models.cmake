# A build without nlohmann-json is configured, and its program says which verbs it lacks. Compiles the table of verbs alone, and
# links it without them. Run with cmake -P and: SOURCE, the checkout; BUILD, a folder; GENERATOR and CXX, a compiler.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE "${BUILD}")
foreach(step "-S;${SOURCE};-B;${BUILD};-G;${GENERATOR};-DCMAKE_CXX_COMPILER=${CXX};-DCMAKE_BUILD_TYPE=Release;-DCMAKE_CXX_FLAGS_RELEASE=-O0;\
-DCMAKE_OPTIMIZE_DEPENDENCIES=ON;-DPOSENC_BUILD_TESTS=OFF;-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON" "--build;${BUILD};--target;program_verbs;program_options;reporting")
  execute_process(COMMAND "${CMAKE_COMMAND}" ${step} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "without nlohmann-json: cmake ${step} ends with ${result}:\n${out}")
  endif()
endforeach()
set(PROGRAM "${BUILD}/table/posenc")
file(MAKE_DIRECTORY "${BUILD}/table")
execute_process(COMMAND "${CXX}" -std=c++20 "-I${SOURCE}/examples" -Wl,--unresolved-symbols=ignore-all -o "${PROGRAM}" "${SOURCE}/examples/program/main.cpp"
  "${BUILD}/examples/program/libprogram_verbs.a" "${BUILD}/examples/program/libprogram_options.a" "${BUILD}/examples/reporting/libreporting.a" COMMAND_ERROR_IS_FATAL ANY)

include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")
set(absent "this posenc was built without nlohmann-json, which reads models")
expect_narrow(--help)
string(REGEX MATCHALL "[a-z]+ [(]absent[)]" verbs "${out}")
if(NOT "${verbs}" STREQUAL "run (absent);verdict (absent);conformance (absent);compare (absent);identify (absent)" OR NOT out MATCHES "\nabsent: ${absent}\\.\n")
  message(FATAL_ERROR "--help must name the verbs that need models:\n${out}")
endif()
foreach(verb run verdict compare identify)
  expect_of(1 err "^posenc ${verb}: ${absent} $" "${PROGRAM}" ${verb} --help)
endforeach()
expect_of(2 err "^posenc conformance: ${absent} $" "${PROGRAM}" conformance --help)
