# The dependencies of posenc: the headers of xsimd 8.1 to 14, and Eigen 3.4 to 5 except for
# posenc::rotation. Used by the build and by the installed package. Versions are compared here,
# because both packages' version files accept fewer.

find_package(Eigen3 QUIET NO_MODULE)
set(POSENC_EIGEN_PROBLEM "")
if(NOT Eigen3_FOUND)
  set(POSENC_EIGEN_PROBLEM "posenc::posenc needs Eigen 3.4 or newer, found none (Debian: libeigen3-dev); posenc::rotation does without")
elseif(Eigen3_VERSION VERSION_LESS 3.4)
  set(POSENC_EIGEN_PROBLEM "posenc::posenc needs Eigen 3.4 or newer, found ${Eigen3_VERSION} (Debian: libeigen3-dev); posenc::rotation does without")
endif()

# Only xsimd's include directory: its CMake target in Debian 12 names a library that the package
# does not contain.
if(NOT TARGET posenc::xsimd)
  find_path(POSENC_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp)
  mark_as_advanced(POSENC_XSIMD_INCLUDE_DIR)
  if(NOT POSENC_XSIMD_INCLUDE_DIR)
    message(FATAL_ERROR "posenc needs the headers of xsimd 8.1 or newer (Debian: libxsimd-dev); POSENC_XSIMD_INCLUDE_DIR may name their directory")
  endif()
  file(STRINGS "${POSENC_XSIMD_INCLUDE_DIR}/xsimd/config/xsimd_config.hpp" version_lines REGEX "define XSIMD_VERSION_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" posenc_xsimd_version "${version_lines}")
  if(posenc_xsimd_version VERSION_LESS 8.1)
    message(FATAL_ERROR "posenc needs xsimd 8.1 or newer, found ${posenc_xsimd_version} in ${POSENC_XSIMD_INCLUDE_DIR}")
  endif()
  add_library(posenc::xsimd INTERFACE IMPORTED)
  set_target_properties(posenc::xsimd PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${POSENC_XSIMD_INCLUDE_DIR}")
endif()

# Only posenc::model needs it.
find_package(nlohmann_json 3.10 QUIET)
