// Starts the program posenc-ring, which lies beside this one and is linked with MPI.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "program/options.hpp"

namespace ring {

extern "C" int ring_verb(int argc, char** argv);

int ring_verb(int, char** argv) {
  return program::guarded("posenc ring", [&]() -> int {
    std::error_code failed;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", failed);
    auto const program = (self.parent_path() / "posenc-ring").string();
    if (failed || !std::filesystem::exists(program, failed))
      throw std::runtime_error("this posenc was built without MPI (Debian: libopenmpi-dev)");
    execv(program.c_str(), argv);
    throw std::runtime_error("cannot start " + program + ": " + std::strerror(errno));
  });
}

}  // namespace ring
