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

# The installed folder can be moved; pkg-config finds the package there.
file(RENAME "${room}/prefix" "${room}/moved")
set(ENV{PKG_CONFIG_PATH} "${room}/moved/share/pkgconfig")
execute_process(COMMAND pkg-config --cflags posenc OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("${COMPILER}" -std=c++20 ${flags} "${SOURCE}/tests/consumer/engine.cpp" "${SOURCE}/tests/consumer/paged_cache.cpp" -o "${room}/by_pkg_config")
run("${room}/by_pkg_config")
