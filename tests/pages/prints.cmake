# A program prints what its page says. Run with cmake -P, PROGRAM, its PAGE and PRINTS, a file; WINE, what runs it, or nothing.
execute_process(COMMAND ${WINE} "${PROGRAM}" ${PAGE} OUTPUT_VARIABLE out RESULT_VARIABLE result)
string(REPLACE "\r" "" out "${out}")
file(READ "${PRINTS}" expected)
if(NOT result EQUAL 0 OR NOT out STREQUAL expected)
  message(FATAL_ERROR "the page must show what its program prints:\n${out}instead of\n${expected}(exit ${result})")
endif()
