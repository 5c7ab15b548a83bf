# The answers to settings.txt are those of answers.txt, digit by digit: natively (ANSWERS) or by node
# (NODE, WASM).
if(ANSWERS)
  set(command "${ANSWERS}")
else()
  set(command "${NODE}" "${SOURCE}/answers.mjs" "${WASM}" "${SOURCE}/settings.txt")
endif()
execute_process(COMMAND ${command} WORKING_DIRECTORY "${SOURCE}" INPUT_FILE "${SOURCE}/settings.txt" OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
file(READ "${SOURCE}/answers.txt" expected)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "the answers must be those of ${SOURCE}/answers.txt, got\n${found}")
endif()
