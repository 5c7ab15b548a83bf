# A project whose flags would add instructions to those of the sets is told so, and one without C++
# too. Run with cmake -P and: ROOM, a folder; COMPILER.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE "${ROOM}")
function(must_say words)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${ROOM}" --fresh
    "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(result EQUAL 0)
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${ROOM}" --target engine_rope_api OUTPUT_VARIABLE output
      ERROR_VARIABLE output RESULT_VARIABLE result)
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "${words}")
    message(FATAL_ERROR "with ${ARGN} it must say: ${words}; it says: ${output}")
  endif()
endfunction()
must_say("posenc_add_kernels: the project must enable C[+][+]" -DLANGUAGES=C)
must_say("posenc_add_kernels: the project's flags must not add instructions" -DLANGUAGES=CXX -DCMAKE_CXX_FLAGS=-mavx2)
