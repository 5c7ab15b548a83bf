// A program's own error handler. It includes nothing of posenc.
#include <cstdio>
#include <cstdlib>

extern "C" [[noreturn]] void posenc_on_error(char const* sentence) {
  std::printf("handled: %s\n", sentence);
  std::fflush(stdout);
  std::_Exit(3);
}
