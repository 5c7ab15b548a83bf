# Common settings for cross compiling. Programs are static, so that an emulator needs no libraries
# of the platform.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)

# xsimd has headers only, so the host's will do. They are in /usr/include, where no cross compiler
# may look: a link to their folder solves that.
if(NOT CMAKE_IN_TRY_COMPILE AND NOT DEFINED CACHE{POSENC_XSIMD_INCLUDE_DIR})
  set(POSENC_XSIMD_INCLUDE_DIR "${CMAKE_BINARY_DIR}/host" CACHE PATH "Where xsimd is")
  file(MAKE_DIRECTORY "${POSENC_XSIMD_INCLUDE_DIR}")
  file(CREATE_LINK /usr/include/xsimd "${POSENC_XSIMD_INCLUDE_DIR}/xsimd" SYMBOLIC)
endif()
