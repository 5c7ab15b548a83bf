# The harness of a verb's test: what every verb does, then what people ask of this one, in VERB/check.cmake. Run with
# cmake -P and PROGRAM, VERB, SOURCE (the checkout), and what that file needs. Each runs in a folder of its own.
cmake_policy(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")

# --help fits 80 columns, says how numbers come out, and ends with two examples.
expect_narrow(--help)
if(NOT out MATCHES "--(csv|json)")
  message(FATAL_ERROR "${VERB} must have --csv or --json:\n${out}")
endif()
if(NOT out MATCHES "\nExamples:\n  [^\n]*posenc ${VERB} [^\n]*\n      [^\n]*\n  [^\n]*posenc ${VERB} [^\n]*\n      [^\n]*\n$")
  message(FATAL_ERROR "--help of ${VERB} must end with two examples:\n${out}")
endif()
# The examples run, but for those that read files of yours, start other programs, or take long.
string(REGEX MATCHALL "\n  [^\n]*posenc ${VERB} [^\n]*" examples "${out}")
cmake_path(GET PROGRAM PARENT_PATH programs)
set(path "$ENV{PATH}")
set(ENV{PATH} "${programs}:${path}")
file(MAKE_DIRECTORY check_examples)
foreach(example IN LISTS examples)
  if(MODELS AND NOT example MATCHES "(model|book|config|dump|scores|[qk])\\.[a-z]|tests/|mpiexec|less|--quick")
    execute_process(COMMAND sh -c "${example}" WORKING_DIRECTORY check_examples RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
    if(NOT result MATCHES "^[02]$" OR NOT err STREQUAL "")  # 2: a verdict
      message(FATAL_ERROR "an example of --help must run:${example}\nexit ${result}: ${err}")
    endif()
  endif()
endforeach()
file(REMOVE_RECURSE check_examples)
set(ENV{PATH} "${path}")
expect(0 out "Usage: posenc ${VERB} " -h)
# An option that there is not, and one that is nearly there.
expect("[12]" err "there is no option --no-such-option; see posenc ${VERB} --help" --no-such-option)
expect("[12]" err "there is no option --hepl; the nearest is --help" --hepl)
expect("[12]" err "there is no option --hepl; the nearest is --help" --hepl=3)

set(folder "${SOURCE}/examples/program/${VERB}")
include("${folder}/check.cmake")
