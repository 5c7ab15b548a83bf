# The components of posenc and what they need from outside. Used by the build and by the installed
# package. Versions are compared here, because the packages' own version files accept fewer.

# posenc_needs_NAME: the components that NAME builds on. They stand before it. The package has NAME
# in the file posenc-NAME.cmake.
set(posenc_components rotation attention kernels model posenc)
set(posenc_needs_rotation "")
set(posenc_needs_attention rotation)
set(posenc_needs_kernels attention)
set(posenc_needs_model attention)
set(posenc_needs_posenc attention)

# Finds what the component needs from outside. POSENC_PROBLEM says what is missing, or is empty.
macro(posenc_find_dependencies component)
  set(POSENC_PROBLEM "")
  if("${component}" STREQUAL "rotation")
    posenc_find_xsimd()
  elseif("${component}" STREQUAL "posenc")
    find_package(Eigen3 QUIET NO_MODULE)
    if(NOT Eigen3_FOUND)
      set(POSENC_PROBLEM "posenc::posenc needs Eigen 3.4 or newer, found none (Debian: libeigen3-dev); posenc::attention does without")
    elseif(Eigen3_VERSION VERSION_LESS 3.4)
      set(POSENC_PROBLEM "posenc::posenc needs Eigen 3.4 or newer, found ${Eigen3_VERSION} (Debian: libeigen3-dev); posenc::attention does without")
    endif()
  elseif("${component}" STREQUAL "model")
    find_package(nlohmann_json 3.10 QUIET)
    if(NOT nlohmann_json_FOUND)
      set(POSENC_PROBLEM "posenc::model needs nlohmann-json 3.10 or newer (Debian: nlohmann-json3-dev)")
    endif()
  endif()
endmacro()

# The headers of xsimd 8.1 to 14. Only its include directory: its CMake target in Debian 12 names a
# library that the package does not contain.
macro(posenc_find_xsimd)
  if(NOT TARGET posenc::xsimd)
    find_path(POSENC_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp)
    mark_as_advanced(POSENC_XSIMD_INCLUDE_DIR)
    set(posenc_xsimd_version 0)
    if(POSENC_XSIMD_INCLUDE_DIR)
      file(STRINGS "${POSENC_XSIMD_INCLUDE_DIR}/xsimd/config/xsimd_config.hpp" posenc_xsimd_version REGEX "define XSIMD_VERSION_(MAJOR|MINOR) ")
      string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" posenc_xsimd_version "${posenc_xsimd_version}")
    endif()
    if(posenc_xsimd_version EQUAL 0)
      set(POSENC_PROBLEM "posenc needs the headers of xsimd 8.1 or newer, found none (Debian: libxsimd-dev); POSENC_XSIMD_INCLUDE_DIR may name their directory")
    elseif(posenc_xsimd_version VERSION_LESS 8.1)
      set(POSENC_PROBLEM "posenc needs xsimd 8.1 or newer, found ${posenc_xsimd_version} in ${POSENC_XSIMD_INCLUDE_DIR}")
    else()
      add_library(posenc::xsimd INTERFACE IMPORTED)
      set_target_properties(posenc::xsimd PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${POSENC_XSIMD_INCLUDE_DIR}")
    endif()
  endif()
endmacro()
