# Writes posenc as single files, for those who copy it: posenc_rotation.hpp and posenc_attention.hpp,
# the C++ components of these names, and posenc_kernels.cpp with posenc.h, the C library. Each has the
# headers that it needs, each once and after those that it includes. None needs xsimd. Run with
# cmake -P; SOURCE may name the checkout, FOLDER where the files are written.
cmake_policy(VERSION 3.18)
if(NOT SOURCE)
  get_filename_component(SOURCE "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
endif()
if(NOT FOLDER)
  set(FOLDER .)
endif()
get_filename_component(include "${SOURCE}/include" ABSOLUTE)

# Appends the header to `body`, without what is for xsimd and for readers of models. Text is quoted
# throughout: it has semicolons.
function(append_header header)
  if(header IN_LIST seen)
    return()
  endif()
  list(APPEND seen "${header}")
  file(READ "${include}/${header}" text)
  string(REGEX REPLACE "#if (!defined.POSENC_WITHOUT_XSIMD.|defined.POSENC_KERNELS_MODEL.)\n[^\n]*\n#endif\n" "" text "${text}")
  string(REGEX MATCHALL "\n *# *include *\"[^\n]*" lines "${text}")
  foreach(line IN LISTS lines)
    if(line STREQUAL "\n#include \"posenc/posenc.h\"")
      string(REPLACE "${line}" "\n#include \"posenc.h\"" text "${text}")
      continue()
    endif()
    if(NOT line MATCHES "^\n#include \"(posenc/[a-z0-9_/]+\\.hpp)\"$")
      message(FATAL_ERROR "${header}: ${line} is not #include \"posenc/...\"")
    endif()
    append_header("${CMAKE_MATCH_1}")
    string(REPLACE "${line}" "" text "${text}")
  endforeach()
  string(REPLACE "#pragma once\n" "" text "${text}")
  string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
  string(APPEND body "\n// ${header}\n${text}")
  set(body "${body}" PARENT_SCOPE)
  set(seen "${seen}" PARENT_SCOPE)
endfunction()

file(READ "${SOURCE}/LICENSE" license)
string(REGEX REPLACE "\n+$" "" license "${license}")
string(REGEX REPLACE "\n" "\n// " license "// ${license}")
string(REGEX REPLACE "// \n" "//\n" license "${license}")
file(STRINGS "${include}/posenc/version.hpp" version REGEX "^#define POSENC_VERSION_")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" version "${version}")

# A header of the rooms of include/posenc/ that are listed.
function(write_header name title)
  set(roots posenc/version.hpp)
  foreach(room IN LISTS ARGN)
    file(GLOB headers RELATIVE "${include}" "${include}/posenc/${room}/*.hpp")
    if(NOT headers)
      message(FATAL_ERROR "no headers in ${include}/posenc/${room}")
    endif()
    list(SORT headers)
    list(APPEND roots ${headers})
  endforeach()
  set(seen "")
  set(body "")
  foreach(root IN LISTS roots)
    append_header("${root}")
  endforeach()
  file(WRITE "${FOLDER}/${name}" "// posenc ${version}: ${title} in one header, made of many by
// cmake/single_files.cmake. It needs C++20 and no library. g++ and clang for x86-64 and 64-bit ARM
// compute in registers, others number by number. A file includes this header or posenc's own, not
// both.
//
${license}
#pragma once
#if defined(POSENC_TARGET)
#error a file includes one single header of posenc, or headers of posenc/
#endif
#define POSENC_WITHOUT_XSIMD
${body}
#define POSENC_SINGLE_HEADER
")
endfunction()
write_header(posenc_rotation.hpp "frequencies, rows and rotation (posenc::rotation)" frequency rows rotation)
write_header(posenc_attention.hpp "rotation, caches, encodings and attention (posenc::attention)"
  frequency rows rotation heads cache embedding query_key score softmax decode attention)

# The C library.
file(READ "${CMAKE_CURRENT_LIST_DIR}/packaging/posenc_kernels.cpp" text)
string(REGEX REPLACE "^// " "// posenc ${version}: " text "${text}")
string(REPLACE "run instructions that it lacks.\n" "run instructions that it lacks.\n//\n${license}\n" text "${text}")
set(seen "")
foreach(root instruction_set library)
  set(body "")
  append_header(posenc/c/${root}.hpp)
  string(REPLACE "#include \"posenc/c/${root}.hpp\"\n" "${body}" text "${text}")
endforeach()
file(WRITE "${FOLDER}/posenc_kernels.cpp" "${text}")
file(READ "${include}/posenc/posenc.h" text)
file(WRITE "${FOLDER}/posenc.h" "${text}")
