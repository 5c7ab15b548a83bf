// The verbs of the program.
#pragma once

#include <span>

namespace program {

struct verb {
  char const *name, *question;        ///< what people ask whom it answers
  int (*run)(int argc, char** argv);  ///< the exit status; argv[0] is the verb's name
};

std::span<verb const> verbs();

/// What main returns for the arguments of the program: the status of a verb, of --help or
/// --version, 1 for an error.
int answer(int argc, char** argv);

}  // namespace program
