#include "program/verbs.hpp"

// A verb is a folder with this function, a line in the table, and one in CMakeLists.txt.
namespace angles {
int verb(int argc, char** argv);
}
namespace beliefs {
int verb(int argc, char** argv);
}

namespace program {

std::span<verb const> verbs() {
  static constexpr verb all[]{
      {"angles", "How far off are angles at position n?", angles::verb},
      {"beliefs", "Is it so, what is said of RoPE?", beliefs::verb},
  };
  return all;
}

}  // namespace program
