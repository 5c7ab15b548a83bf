# The program around its verbs. Run with cmake -P and PROGRAM.
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")

expect_narrow(--help)
if(NOT out MATCHES "question  +verb\n.*How far off are angles at position n. +angles\n.*posenc VERB --help")
  message(FATAL_ERROR "--help must have a table of questions and verbs:\n${out}")
endif()
expect(0 out "^posenc [0-9]+.[0-9]+.[0-9]+ $" --version)
expect(1 err "a verb must be given; see posenc --help")
expect(1 err "there is no verb anglse; the nearest is angles" anglse)
expect(1 err "there is no verb no-such-verb; see posenc --help" no-such-verb)
expect(1 err "there is no option --hlp; see posenc --help" --hlp)
expect_full(--version)
