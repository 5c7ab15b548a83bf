# What a release has, in FOLDER: the source as one archive, the single files, the conformance set, and
# their sha256, which it prints. Run with cmake -P and: SOURCE, the checkout; BUILD, a configured build
# of it; VERSION; CPACK; PYTHON; FOLDER.
cmake_policy(VERSION 3.19)
if(NOT PYTHON)
  message(FATAL_ERROR "a release needs Python 3, which packs the conformance set; found none")
endif()
file(REMOVE_RECURSE "${FOLDER}")
execute_process(COMMAND "${CPACK}" --config "${BUILD}/CPackSourceConfig.cmake" -B "${FOLDER}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${SOURCE}" "-DFOLDER=${FOLDER}" -P "${SOURCE}/cmake/single_files.cmake"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PYTHON}" -B "${SOURCE}/tests/conformance/pack.py" "${VERSION}" "${FOLDER}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB others "${FOLDER}/_CPack_Packages" "${FOLDER}/*.json" "${FOLDER}/*.sha256")
file(REMOVE_RECURSE ${others})
file(GLOB files RELATIVE "${FOLDER}" "${FOLDER}/posenc*")
execute_process(COMMAND "${CMAKE_COMMAND}" -E sha256sum ${files} WORKING_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE sums COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${FOLDER}/SHA256SUMS" "${sums}")
message("${sums}")
