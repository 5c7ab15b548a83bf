# find_package(posenc) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(POSENC_CMAKE_DIR "${CMAKE_INSTALL_DATADIR}/cmake/posenc")

# The targets of a component, in the file that posencConfig.cmake includes for it.
function(posenc_install_component name)
  install(TARGETS ${ARGN} EXPORT posenc-${name} INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT posenc-${name} NAMESPACE posenc:: DESTINATION "${POSENC_CMAKE_DIR}")
endfunction()
install(DIRECTORY include/posenc DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
foreach(name rotation attention model)
  posenc_install_component(${name} posenc_${name})
endforeach()
if(TARGET posenc)
  posenc_install_component(posenc posenc)
endif()
# Not at the top of the build, where find_package would find it without its parts.
set(POSENC_PACKAGE "${PROJECT_BINARY_DIR}/package")
configure_package_config_file(cmake/posencConfig.cmake.in "${POSENC_PACKAGE}/posencConfig.cmake" INSTALL_DESTINATION "${POSENC_CMAKE_DIR}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${POSENC_PACKAGE}/posencConfigVersion.cmake" COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${POSENC_PACKAGE}/posencConfig.cmake" "${POSENC_PACKAGE}/posencConfigVersion.cmake"
  cmake/posencDependencies.cmake DESTINATION "${POSENC_CMAKE_DIR}")
# The component kernels is a function, and what it compiles.
install(FILES cmake/posenc_add_kernels.cmake DESTINATION "${POSENC_CMAKE_DIR}" RENAME posenc-kernels.cmake)
install(DIRECTORY cmake/kernels DESTINATION "${POSENC_CMAKE_DIR}" PATTERN README.md EXCLUDE)

file(RELATIVE_PATH POSENC_PREFIX_FROM_PC "/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/")
# Installs NAME.pc, of what needs `requires`.
function(posenc_install_pc POSENC_PC_NAME POSENC_PC_DESCRIPTION POSENC_PC_REQUIRES)
  configure_file(cmake/posenc.pc.in ${POSENC_PC_NAME}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${POSENC_PC_NAME}.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
endfunction()
posenc_install_pc(posenc-rotation "Rotary position embedding of transformers, on CPUs" "xsimd >= 8.1")
posenc_install_pc(posenc-attention "${PROJECT_DESCRIPTION}" "posenc-rotation = ${PROJECT_VERSION}")
if(TARGET posenc)
  posenc_install_pc(posenc "${PROJECT_DESCRIPTION}; their analysis" "posenc-attention = ${PROJECT_VERSION}, eigen3 >= 3.4")
endif()
