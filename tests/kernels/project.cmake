# Kernels are optimised in every build type, and as the caller says if it says. A project is told what is wrong: flags that would add instructions to those of the sets, no C++,
# and every wrong argument of posenc_add_kernels. Run with cmake -P and: ROOM, a folder; COMPILER.
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
# The last -O of each command counts.
foreach(build_type "" Debug)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${ROOM}" --fresh "-DCMAKE_CXX_COMPILER=${COMPILER}"
    -DLANGUAGES=CXX "-DCMAKE_BUILD_TYPE=${build_type}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS "${ROOM}/compile_commands.json" commands REGEX "\"command\":")
  foreach(of_library "engine_rope;-O3" "engine_small;-O2")
    list(POP_FRONT of_library library wanted)
    set(of_it "${commands}")
    list(FILTER of_it INCLUDE REGEX "/${library}_(base|api)[.]dir/")
    if(NOT of_it)
      message(FATAL_ERROR "${library} must have commands, there are ${commands}")
    endif()
    foreach(command IN LISTS of_it)
      string(REGEX MATCHALL " -O[0-9a-z]+" levels "${command}")
      list(POP_BACK levels level)
      if(NOT level STREQUAL " ${wanted}")
        message(FATAL_ERROR "${library} must be compiled with ${wanted} in the build type '${build_type}', is by ${command}")
      endif()
    endforeach()
  endforeach()
endforeach()

must_say("posenc_add_kernels: the project must enable C[+][+]" -DLANGUAGES=C)
foreach(wrong
    "|posenc_add_kernels.NAME name .INSTRUCTION_SETS sets. .SHARED. .MODEL. .OPTIONS options.., got: Call"
    "NAME|got: NAME Call"
    "NAME x SHARD|got: NAME.x.SHARD"
    "NAME a::b|NAME must have letters, digits and _.[+]- alone, got a::b"
    "NAME posenc|NAME must be new, got posenc"
    "NAME engine_rope|NAME must be new, got engine_rope"
    "NAME x INSTRUCTION_SETS|INSTRUCTION_SETS must be given sets, got none"
    "NAME x OPTIONS|OPTIONS must be given options of the compiler, got none"
    "NAME x INSTRUCTION_SETS V3|INSTRUCTION_SETS must be among base.*here, got V3")
  string(REGEX REPLACE "[|].*" "" arguments "${wrong}")
  string(REGEX REPLACE "^[^|]*[|]" "" words "${wrong}")
  must_say("${words}" -DLANGUAGES=CXX "-DWRONG=${arguments}")
endforeach()
must_say("posenc_add_kernels: the project's flags must not add instructions" -DLANGUAGES=CXX -DCMAKE_CXX_FLAGS=-mavx2)
