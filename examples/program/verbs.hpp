// The verbs of the program.
#pragma once

#include <span>

namespace program {

struct verb {
  char const *name, *question;  ///< the question that the verb answers
  /// Returns the exit status; argv[0] is the verb's name. Null: this build has not the verb, because
  /// it reads models, and nlohmann-json was absent.
  int (*run)(int argc, char** argv);
  int status_of_errors = 1;
};

std::span<verb const> verbs();

/// The status of the whole program: that of a verb, of --help or --version, 1 for an error.
int answer(int argc, char** argv);

}  // namespace program
