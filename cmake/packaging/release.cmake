# What a release has, in FOLDER: the source as one archive, the single header, and their sha256, which
# it prints. Run with cmake -P and: SOURCE, the checkout; BUILD, a configured build of it; CPACK; FOLDER.
cmake_policy(VERSION 3.19)
file(REMOVE_RECURSE "${FOLDER}")
execute_process(COMMAND "${CPACK}" --config "${BUILD}/CPackSourceConfig.cmake" -B "${FOLDER}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB others "${FOLDER}/_CPack_Packages" "${FOLDER}/*.json")
file(REMOVE_RECURSE ${others})
execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${SOURCE}" "-DOUTPUT=${FOLDER}/posenc_rotation.hpp" -P "${SOURCE}/cmake/single_header.cmake"
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB files RELATIVE "${FOLDER}" "${FOLDER}/posenc*")
execute_process(COMMAND "${CMAKE_COMMAND}" -E sha256sum ${files} WORKING_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE sums COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${FOLDER}/SHA256SUMS" "${sums}")
message("${sums}")
