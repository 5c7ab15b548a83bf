# find_package(posenc) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(POSENC_CMAKE_DIR "${CMAKE_INSTALL_DATADIR}/cmake/posenc")

install(TARGETS posenc_rotation EXPORT posencRotationTargets FILE_SET HEADERS)
install(EXPORT posencRotationTargets NAMESPACE posenc:: DESTINATION "${POSENC_CMAKE_DIR}")
if(TARGET posenc)
  install(TARGETS posenc EXPORT posencTargets FILE_SET HEADERS)
  install(TARGETS posenc_model EXPORT posencModelTargets FILE_SET HEADERS)
  install(EXPORT posencTargets NAMESPACE posenc:: DESTINATION "${POSENC_CMAKE_DIR}")
  install(EXPORT posencModelTargets NAMESPACE posenc:: DESTINATION "${POSENC_CMAKE_DIR}")
endif()
configure_package_config_file(cmake/posencConfig.cmake.in posencConfig.cmake INSTALL_DESTINATION "${POSENC_CMAKE_DIR}")
write_basic_package_version_file(posencConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/posencConfig.cmake" "${PROJECT_BINARY_DIR}/posencConfigVersion.cmake"
  cmake/posencDependencies.cmake cmake/posenc_add_kernels.cmake DESTINATION "${POSENC_CMAKE_DIR}")
install(DIRECTORY cmake/kernels DESTINATION "${POSENC_CMAKE_DIR}" PATTERN README.md EXCLUDE)

file(RELATIVE_PATH POSENC_PREFIX_FROM_PC "/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/")
# Installs NAME.pc, of what needs `requires`.
function(posenc_install_pc POSENC_PC_NAME POSENC_PC_REQUIRES)
  configure_file(cmake/posenc.pc.in ${POSENC_PC_NAME}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${POSENC_PC_NAME}.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
endfunction()
posenc_install_pc(posenc-rotation "xsimd >= 8.1")
if(TARGET posenc)
  posenc_install_pc(posenc "posenc-rotation = ${PROJECT_VERSION}, eigen3 >= 3.4")
endif()
