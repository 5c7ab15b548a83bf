# The shared library exports the functions of posenc/posenc.h and nothing else. Run with cmake -P and
# LIBRARY, NM.
set(expected
  posenc1_attend
  posenc1_attention_memory
  posenc1_error
  posenc1_frequencies_destroy
  posenc1_frequencies_of_base
  posenc1_frequencies_of_model
  posenc1_frequencies_of_numbers
  posenc1_frequencies_of_rule
  posenc1_frequencies_read
  posenc1_instruction_set
  posenc1_rerotation_create
  posenc1_rotate
  posenc1_row_maker_create
  posenc1_row_maker_destroy
  posenc1_version
  posenc1_write_rows)
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
