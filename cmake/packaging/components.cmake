# A package of the program only where it has been built. Read by cpack before all else.
if(NOT EXISTS "${CPACK_POSENC_PROGRAM}")
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL program)
endif()
