# posenc in other forms, for those who build this project itself.

# posenc as files to copy: BUILD/single-files/.
set(single_files posenc.h posenc_kernels.cpp posenc_rotation.hpp posenc_attention.hpp)
add_custom_target(single-files COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${PROJECT_BINARY_DIR}/single-files" -P "${PROJECT_SOURCE_DIR}/cmake/single_files.cmake"
  COMMAND "${CMAKE_COMMAND}" -E chdir "${PROJECT_BINARY_DIR}/single-files" "${CMAKE_COMMAND}" -E sha256sum ${single_files} COMMENT "single-files/" VERBATIM)

# Packages for Debian: cpack -G DEB in the build folder makes libposenc-dev, the headers, and posenc,
# the program, if it has been built. Who gives them to others says who they are: -D CPACK_PACKAGE_CONTACT="Name <address>".
if(POSENC_INSTALL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME libposenc-dev)
  set(CPACK_PACKAGE_CONTACT "The posenc authors <posenc@packages.invalid>")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libxsimd-dev (>= 8.1)")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "nlohmann-json3-dev (>= 3.10)")
  if(TARGET posenc)
    string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", libeigen3-dev (>= 3.4)")
  endif()
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "positional encodings and attention of transformers")
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Rotates queries and keys in the buffers of an inference engine (RoPE,
p-RoPE, M-RoPE and their frequency rules), adds biases (ALiBi, T5 and
others), attends over KV caches, and reads which encodings a model uses.
Programs need C++20.

The CMake components rotation, attention and kernels need xsimd alone,
model nlohmann-json too, and posenc, which has analysis, Eigen.")
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL Unspecified)
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME libposenc-dev)
  if(POSENC_BUILD_EXAMPLES)
    list(APPEND CPACK_COMPONENTS_ALL program)
    execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE CPACK_DEBIAN_PROGRAM_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME posenc)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "")
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "")
    set(CPACK_STRIP_FILES ON)
    set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "answers questions about positional encodings of transformers
One program with a verb for each question: how a model encodes positions
(config.json, GGUF), how attention falls with distance, how far a head
sees, what engines get wrong, what an 8-bit cache costs.")
  endif()
  set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/packaging/components.cmake")
  set(CPACK_POSENC_PROGRAM "${PROJECT_BINARY_DIR}/posenc")
  set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/packaging/deb.cmake")
  set(CPACK_POSENC_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")

  # posenc-VERSION.tar.gz: package_source.
  set(CPACK_SOURCE_GENERATOR External)
  set(CPACK_SOURCE_PACKAGE_FILE_NAME "posenc-${PROJECT_VERSION}")
  set(CPACK_SOURCE_IGNORE_FILES "${PROJECT_SOURCE_DIR}/build/" "${PROJECT_BINARY_DIR}/" "/[.]git(/|$)" /__pycache__/)
  set(CPACK_EXTERNAL_ENABLE_STAGING ON)
  set(CPACK_EXTERNAL_PACKAGE_SCRIPT "${PROJECT_SOURCE_DIR}/cmake/packaging/source.cmake")
  include(CPack)

  # It, the single files and the conformance set, with their sha256: BUILD/release/.
  find_package(Python3 QUIET COMPONENTS Interpreter)
  add_custom_target(release COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBUILD=${PROJECT_BINARY_DIR}" -DVERSION=${PROJECT_VERSION}
    "-DCPACK=${CMAKE_CPACK_COMMAND}" "-DPYTHON=${Python3_EXECUTABLE}" "-DFOLDER=${PROJECT_BINARY_DIR}/release"
    -P "${PROJECT_SOURCE_DIR}/cmake/packaging/release.cmake" USES_TERMINAL VERBATIM COMMENT "")
endif()
