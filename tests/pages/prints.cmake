# A program prints what its page says. Run with cmake -P, PROGRAM, its PAGE and PRINTS, a file.
execute_process(COMMAND "${PROGRAM}" ${PAGE} OUTPUT_VARIABLE out RESULT_VARIABLE result)
file(READ "${PRINTS}" expected)
if(NOT result EQUAL 0 OR NOT out STREQUAL expected)
  message(FATAL_ERROR "the page must show what its program prints:\n${out}instead of\n${expected}(exit ${result})")
endif()
