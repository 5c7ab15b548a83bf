# The copyright and the changelog of each package, beside what is staged for it. Run by cpack.
cmake_policy(VERSION 3.19)
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
file(READ "${CPACK_POSENC_LICENSE}" license)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  set(doc "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${package}")
  file(WRITE "${doc}/copyright" "The Debian package ${package} was made by cpack from a checkout of posenc.\n\n${license}")
  file(WRITE "${doc}/changelog" "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * posenc ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip -9n "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
