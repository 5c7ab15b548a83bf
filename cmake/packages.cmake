# posenc in other forms, for those who build this project itself.

# One header with everything of posenc::rotation: BUILD/single-header/posenc_rotation.hpp.
add_custom_target(single-header COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${PROJECT_BINARY_DIR}/single-header/posenc_rotation.hpp"
  -P "${PROJECT_SOURCE_DIR}/cmake/single_header.cmake" COMMENT "single-header/posenc_rotation.hpp" VERBATIM)

