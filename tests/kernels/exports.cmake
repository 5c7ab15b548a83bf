# The shared library exports the functions of posenc/posenc.h, as tests/interface has them, and nothing
# else. Run with cmake -P and LIBRARY, NM.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../interface/promised.txt" expected REGEX "^[^#{]*posenc1_[a-z_]+[(]")
list(TRANSFORM expected REPLACE "^[^(]*(posenc1_[a-z_]+)[(].*" "\\1")
list(SORT expected)
execute_process(COMMAND "${NM}" --dynamic --defined-only "${LIBRARY}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
# Templates of the standard library, which its own header makes visible, are weak.
string(REGEX MATCHALL " [TDBR] [^\n]+" symbols "${symbols}")
list(TRANSFORM symbols REPLACE "^ . " "")
list(SORT symbols)
if(NOT symbols STREQUAL expected)
  list(JOIN symbols "\n  " symbols)
  message(FATAL_ERROR "the library must export what is in posenc/posenc.h (and a name that goes needs a new interface), exports\n  ${symbols}")
endif()
execute_process(COMMAND "${NM}" --dynamic --defined-only "${LIBRARY}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " [WVu] [^\n]*posenc[^\n]*" weak "${symbols}")
if(weak)
  message(FATAL_ERROR "the library exports functions of posenc: ${weak}")
endif()
