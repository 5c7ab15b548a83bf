# posenc-VERSION.tar.gz, what cpack staged, the same bytes each time: names sorted; times, owners and
# rights fixed. Run by cpack; it needs GNU tar and gzip.
cmake_policy(VERSION 3.19)
configure_file("${CMAKE_CURRENT_LIST_DIR}/CITATION.cff.in" "${CPACK_TEMPORARY_DIRECTORY}/CITATION.cff" @ONLY)  # who cites looks at the top
set(archive "${CPACK_TEMPORARY_DIRECTORY}.tar.gz")
get_filename_component(parent "${CPACK_TEMPORARY_DIRECTORY}" DIRECTORY)
get_filename_component(name "${CPACK_TEMPORARY_DIRECTORY}" NAME)
execute_process(COMMAND tar --directory "${parent}" --create --format=ustar --sort=name "--mtime=2026-01-01 00:00Z" --owner=0 --group=0 --numeric-owner
    --mode=u+rw,go+r,go-w "${name}"
  COMMAND gzip -9n OUTPUT_FILE "${archive}" RESULTS_VARIABLE results)
if(NOT results STREQUAL "0;0")
  message(FATAL_ERROR "tar and gzip must succeed, gave ${results}")
endif()
set(CPACK_EXTERNAL_BUILT_PACKAGES "${archive}")
