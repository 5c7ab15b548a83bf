# The Debian package libposenc-dev: it is for every architecture, depends on what its headers
# include, has every header, and CMake finds its components; lintian, where there is one, has
# nothing to say. Run with cmake -P and: SOURCE, the checkout; BUILD, a configured build of it;
# CPACK; DPKG_DEB; LINTIAN, which may be NOTFOUND.
cmake_policy(VERSION 3.25)
set(room "${BUILD}/deb")
file(REMOVE_RECURSE "${room}")
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "${ARGV}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CPACK}" -G DEB --config "${BUILD}/CPackConfig.cmake" -B "${room}")
file(GLOB package "${room}/*.deb")
if(NOT package MATCHES "/libposenc-dev_[0-9.]+_all\\.deb$")
  message(FATAL_ERROR "cpack must make one package of the name and for all architectures, made: ${package}")
endif()
run("${DPKG_DEB}" --field "${package}")
foreach(field "Architecture: all" "Section: libdevel" "Depends: libxsimd-dev (>= 8.1)"
    "Recommends: nlohmann-json3-dev (>= 3.10), libeigen3-dev (>= 3.4)")
  string(FIND "${output}" "${field}\n" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${package} must have the field ${field}, has\n${output}")
  endif()
endforeach()

set(unpacked "${room}/unpacked")
run("${DPKG_DEB}" --extract "${package}" "${unpacked}")
file(GLOB_RECURSE headers RELATIVE "${SOURCE}/include" "${SOURCE}/include/*.hpp")
foreach(file IN LISTS headers)
  if(NOT EXISTS "${unpacked}/usr/include/${file}")
    message(FATAL_ERROR "${package} lacks ${file}")
  endif()
endforeach()
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer/components" -B "${room}/components" "-DCMAKE_PREFIX_PATH=${unpacked}/usr"
  "-DCOMPONENTS=model posenc")
if(NOT output MATCHES "has posenc::rotation.*has posenc::attention.*has posenc::posenc.*has posenc::model")
  message(FATAL_ERROR "find_package(posenc) in ${package} says\n${output}")
endif()

if(LINTIAN)
  run("${LINTIAN}" --info --pedantic --fail-on error,warning,info,pedantic --allow-root "${package}")
  if(NOT output STREQUAL "")
    message(FATAL_ERROR "lintian says of ${package}:\n${output}")
  endif()
endif()
