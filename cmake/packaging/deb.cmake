# The copyright and the changelog of libposenc-dev, beside what is staged for it. Run by cpack.
cmake_policy(VERSION 3.19)
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
set(doc "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${CPACK_PACKAGE_NAME}")
file(READ "${CPACK_POSENC_LICENSE}" license)
file(WRITE "${doc}/copyright" "The Debian package ${CPACK_PACKAGE_NAME} was made by cpack from a checkout of posenc.\n\n${license}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${doc}/changelog" "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * posenc ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9n "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
