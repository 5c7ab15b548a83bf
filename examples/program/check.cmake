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
expect(0 out "Usage: posenc ${VERB} " -h)
# An option that there is not, and one that is nearly there.
expect("[12]" err "there is no option --no-such-option; see posenc ${VERB} --help" --no-such-option)
expect("[12]" err "there is no option --hepl; the nearest is --help" --hepl)
expect("[12]" err "there is no option --hepl; the nearest is --help" --hepl=3)

set(folder "${SOURCE}/examples/program/${VERB}")
include("${folder}/check.cmake")
