# Writes one header with everything of posenc::rotation: what frequency/, rows/ and rotation/
# offer, and what they include, each header once and after those that it includes. Run with
# cmake -P; SOURCE may name the checkout, OUTPUT the header.
cmake_policy(VERSION 3.18)
if(NOT SOURCE)
  get_filename_component(SOURCE "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
endif()
if(NOT OUTPUT)
  set(OUTPUT posenc_rotation.hpp)
endif()
get_filename_component(include "${SOURCE}/include" ABSOLUTE)
file(GLOB roots RELATIVE "${include}" "${include}/posenc/version.hpp" "${include}/posenc/frequency/*.hpp"
  "${include}/posenc/rows/*.hpp" "${include}/posenc/rotation/*.hpp")
if(NOT roots)
  message(FATAL_ERROR "no headers under ${include}/posenc")
endif()
list(SORT roots)

set(seen "")
set(body "")
# Appends the header to `body`. Text is quoted throughout: it has semicolons.
function(append_header header)
  if(header IN_LIST seen)
    return()
  endif()
  list(APPEND seen "${header}")
  file(READ "${include}/${header}" text)
  file(STRINGS "${include}/${header}" includes REGEX "^ *# *include *\"")
  foreach(line IN LISTS includes)
    if(NOT line MATCHES "^#include \"(posenc/[a-z0-9_/]+\\.hpp)\"$")
      message(FATAL_ERROR "${header}: ${line} is not #include \"posenc/...\"")
    endif()
    append_header("${CMAKE_MATCH_1}")
    string(REPLACE "${line}\n" "" text "${text}")
  endforeach()
  string(REPLACE "#pragma once\n" "" text "${text}")
  string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
  string(APPEND body "\n// ${header}\n${text}")
  set(body "${body}" PARENT_SCOPE)
  set(seen "${seen}" PARENT_SCOPE)
endfunction()
foreach(root IN LISTS roots)
  append_header("${root}")
endforeach()

file(READ "${SOURCE}/LICENSE" license)
string(REGEX REPLACE "\n+$" "" license "${license}")
string(REGEX REPLACE "\n" "\n// " license "// ${license}")
string(REGEX REPLACE "// \n" "//\n" license "${license}")
file(STRINGS "${include}/posenc/version.hpp" version REGEX "^#define POSENC_VERSION_")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" version "${version}")
file(WRITE "${OUTPUT}" "// posenc ${version}: frequencies, rows and rotation (posenc::rotation) in one header, made of many
// by cmake/single_header.cmake. It needs C++20 and the headers of xsimd 8.1 or newer. A file
// includes it or posenc's own headers, not both.
//
${license}
#pragma once
#if defined(POSENC_TARGET)
#error a file includes posenc_rotation.hpp or headers of posenc/, not both
#endif
${body}
#define POSENC_SINGLE_HEADER
")
