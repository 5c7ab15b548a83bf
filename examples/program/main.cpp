// posenc VERB: answers one question about positional encodings.
#include "program/verbs.hpp"

int main(int argc, char** argv) { return program::answer(argc, argv); }
