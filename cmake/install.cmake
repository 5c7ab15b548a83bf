# find_package(posenc) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(POSENC_CMAKE_DIR "${CMAKE_INSTALL_DATADIR}/cmake/posenc")

install(TARGETS posenc EXPORT posencTargets FILE_SET HEADERS)
install(TARGETS posenc_model EXPORT posencModelTargets FILE_SET HEADERS)
install(EXPORT posencTargets NAMESPACE posenc:: DESTINATION "${POSENC_CMAKE_DIR}")
install(EXPORT posencModelTargets NAMESPACE posenc:: DESTINATION "${POSENC_CMAKE_DIR}")
configure_package_config_file(cmake/posencConfig.cmake.in posencConfig.cmake INSTALL_DESTINATION "${POSENC_CMAKE_DIR}")
write_basic_package_version_file(posencConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/posencConfig.cmake" "${PROJECT_BINARY_DIR}/posencConfigVersion.cmake"
  cmake/posencDependencies.cmake DESTINATION "${POSENC_CMAKE_DIR}")

file(RELATIVE_PATH POSENC_PREFIX_FROM_PC "/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/")
configure_file(cmake/posenc.pc.in posenc.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/posenc.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
