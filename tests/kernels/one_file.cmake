# posenc_kernels.cpp by a bare command has the bits of the library of posenc_add_kernels: what commands.cmake includes. Alone, for a
# CPU that an emulator has, run with cmake -P and: SOURCE; ROOM; CXX, CC; CASES, the program of cases/ with that library; NUMBERS, the
# folder of its header; EMULATOR.
cmake_policy(VERSION 3.25)

# ROOM/posenc/, whose file must be told right what it is compiled for.
function(make_one_file)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${SOURCE}" "-DFOLDER=${ROOM}/posenc" -P "${SOURCE}/cmake/single_files.cmake" COMMAND_ERROR_IS_FATAL ANY)
  foreach(wrong "SET=v5|POSENC_SET must be base, v3, v4, v4_vnni, v4_bf16 or bf16" "SET=v4|POSENC_SET=v4 needs -march=x86-64-v4"
      "SET=bf16|POSENC_SET=bf16 needs" "SETS=v3,v5|POSENC_SETS must be among base, v3, v4, v4_vnni, v4_bf16 and bf16"
      "SETS=v4_vnni|POSENC_SETS must have v4, where it has v4_vnni" "SETS=v4_bf16|POSENC_SETS must have v4_vnni, where it has v4_bf16" "SETS=v3 -DPOSENC_SET=base|POSENC_SETS is for the file without POSENC_SET")
    string(REGEX MATCH "^(.*)[|](.*)$" wrong "${wrong}")
    set(sentence "${CMAKE_MATCH_2}")
    string(REPLACE " " ";" definitions "-DPOSENC_${CMAKE_MATCH_1}")
    execute_process(COMMAND "${CXX}" -std=c++20 -E ${definitions} "${ROOM}/posenc/posenc_kernels.cpp" OUTPUT_QUIET ERROR_VARIABLE error RESULT_VARIABLE result)
    if(result EQUAL 0 OR NOT error MATCHES "#error ${sentence}")
      message(FATAL_ERROR "${definitions} must end with the error: ${sentence}, got ${result}: ${error}")
    endif()
  endforeach()
endfunction()

# The program of cases/, with objects of that file, prints what CASES prints, on each of the sets that this CPU has.
function(compare_cases objects sets)
  set(file "${SOURCE}/tests/kernels/cases/attention.txt")
  execute_process(COMMAND "${CC}" -O1 "-I${SOURCE}/include" "-I${NUMBERS}" -c "${SOURCE}/tests/kernels/cases/cases.c" -o cases.o
    WORKING_DIRECTORY "${ROOM}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${CXX}" cases.o ${objects} -lm ${static} -o cases WORKING_DIRECTORY "${ROOM}" COMMAND_ERROR_IS_FATAL ANY)
  foreach(set IN LISTS sets)
    foreach(program "${CASES}" "${ROOM}/cases")
      set(of_library "${said}")
      execute_process(COMMAND "${CMAKE_COMMAND}" -E env POSENC_INSTRUCTION_SET=${set} ${EMULATOR} "${program}" "${file}"
        OUTPUT_VARIABLE said ERROR_VARIABLE error RESULT_VARIABLE result)
    endforeach()
    if(said MATCHES "must be one that this CPU has")
      message(STATUS "this CPU has no ${set}")
    elseif(result OR NOT said STREQUAL of_library OR NOT said MATCHES "\n[a-z0-9_]+ [0-9a-f]+\n")
      message(FATAL_ERROR "posenc_kernels.cpp on ${set}: ${result} ${error}\n${said}by the library:\n${of_library}")
    else()
      message(STATUS "posenc_kernels.cpp on ${set}: the bits of the library")
    endif()
  endforeach()
endfunction()

if(EMULATOR)
  set(static -static)  # an emulator has no libraries of its CPU
  file(REMOVE_RECURSE "${ROOM}")
  make_one_file()
  execute_process(COMMAND "${CXX}" -std=c++20 -O0 -c posenc/posenc_kernels.cpp -o posenc.o WORKING_DIRECTORY "${ROOM}" COMMAND_ERROR_IS_FATAL ANY)
  compare_cases(posenc.o base)
endif()
