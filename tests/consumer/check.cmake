# Builds and runs the consumer both ways, and by pkg-config. Run with cmake -P and: SOURCE, the
# checkout; BUILD, a configured build of it; COMPILER.
set(room "${BUILD}/consumer")
file(REMOVE_RECURSE "${room}")
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${room}/prefix")
foreach(way PACKAGE SUBDIRECTORY)
  run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer" -B "${room}/${way}" -DCONSUME=${way}
    "-DCMAKE_PREFIX_PATH=${room}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}")
  run("${CMAKE_COMMAND}" --build "${room}/${way}")
  run("${room}/${way}/engine")
  run("${room}/${way}/reader")
endforeach()

# Without Eigen: the component rotation builds, posenc says what it needs.
set(without_eigen "-DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON" "-DCMAKE_PREFIX_PATH=${room}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer" -B "${room}/ROTATION" -DCONSUME=ROTATION ${without_eigen})
run("${CMAKE_COMMAND}" --build "${room}/ROTATION")
run("${room}/ROTATION/rotation")
run("${room}/ROTATION/from_c")
execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer" -B "${room}/refused" ${without_eigen}
  RESULT_VARIABLE refused ERROR_VARIABLE error OUTPUT_QUIET)
string(REGEX REPLACE "[ \n]+" " " error "${error}")
if(NOT refused OR NOT error MATCHES "posenc::posenc needs Eigen 3.4 or newer, found none")
  message(FATAL_ERROR "without Eigen the package says: ${error}")
endif()

# The installed folder can be moved; pkg-config finds the package there.
file(RENAME "${room}/prefix" "${room}/moved")
set(ENV{PKG_CONFIG_PATH} "${room}/moved/share/pkgconfig")
execute_process(COMMAND pkg-config --cflags posenc OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("${COMPILER}" -std=c++20 ${flags} "${SOURCE}/tests/consumer/engine.cpp" "${SOURCE}/tests/consumer/paged_cache.cpp" -o "${room}/by_pkg_config")
run("${room}/by_pkg_config")
execute_process(COMMAND pkg-config --cflags posenc-rotation OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
if("${flags}" MATCHES "eigen")
  message(FATAL_ERROR "pkg-config's posenc-rotation needs Eigen: ${flags}")
endif()
run("${COMPILER}" -std=c++20 ${flags} "${SOURCE}/tests/consumer/rotation.cpp" -o "${room}/rotation_by_pkg_config")
run("${room}/rotation_by_pkg_config")
