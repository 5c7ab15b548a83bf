# The kernel for Hugging Face's kernels hub, in FOLDER, which kernel-builder builds: posenc's C library
# as operators of PyTorch, for the CPUs of this machine's kind. kernel-builder sees no file but those
# that build.toml lists, so it lists all. Run with cmake -P and: SOURCE, the checkout; FLAGS, a folder
# with SET.options and SET.definitions, which posenc_add_kernels has for its sets and api; XSIMD, the folder
# of its headers; OWNER, on the hub; FOLDER.
cmake_policy(VERSION 3.19)
include("${CMAKE_CURRENT_LIST_DIR}/license.cmake")
set(hub "${CMAKE_CURRENT_LIST_DIR}/hub")
file(REMOVE_RECURSE "${FOLDER}")
configure_file("${hub}/build.toml.in" "${FOLDER}/build.toml" @ONLY)
configure_file("${hub}/tests/test_posenc.py.in" "${FOLDER}/tests/test_posenc.py" @ONLY)
file(COPY "${SOURCE}/LICENSE" "${hub}/CARD.md" "${hub}/torch-ext" DESTINATION "${FOLDER}" PATTERN __pycache__ EXCLUDE)
copy_license(xsimd "${XSIMD}" "${FOLDER}")
file(COPY "${SOURCE}/include/posenc" "${XSIMD}/xsimd" DESTINATION "${FOLDER}/include" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h"
  PATTERN analysis EXCLUDE PATTERN model EXCLUDE PATTERN adapter EXCLUDE PATTERN embedding EXCLUDE)

# section(NAME SET FILE...): a kernel of build.toml, and its files.
function(section name set)
  file(READ "${FLAGS}/${set}.options" options)
  list(FILTER options EXCLUDE REGEX "^$")
  list(JOIN ARGN "\", \"" files)
  list(JOIN options "\", \"" options)
  file(APPEND "${FOLDER}/build.toml" "
[kernel.${name}]
backend = \"cpu\"
depends = [\"torch\"]
include = [\"include\"]
cxx-flags = [\"-std=c++20\", \"-fvisibility=hidden\", \"${options}\"]
src = [\"${files}\"]
")
endfunction()
# copy_defined(FILE SET OF): a file of cmake/kernels with what cmake would define for it: definitions with
# blanks are no good in build.toml.
function(copy_defined file set of)
  file(READ "${FLAGS}/${set}.definitions" definitions)
  list(FILTER definitions EXCLUDE REGEX "^$")
  list(TRANSFORM definitions REPLACE "^([^=]+)=?(.*)$" "#define \\1 \\2\n")
  string(REPLACE ";" "" definitions "${definitions}")
  file(READ "${SOURCE}/cmake/kernels/${of}" text)
  file(WRITE "${FOLDER}/${file}" "${definitions}${text}")
endfunction()

file(GLOB sets RELATIVE "${FLAGS}" "${FLAGS}/*.options")
foreach(set IN LISTS sets)
  string(REPLACE ".options" "" set "${set}")
  if(NOT set STREQUAL "api")
    copy_defined(sets/${set}.cpp ${set} set.cpp)
    section(${set} ${set} sets/${set}.cpp)
  endif()
endforeach()
copy_defined(api/library.cpp api library.cpp)
file(GLOB_RECURSE headers RELATIVE "${FOLDER}" "${FOLDER}/include/*")
section(api api api/library.cpp ${headers})
