#include "program/verbs.hpp"

#include "program/options.hpp"

// A verb is a folder with this function, a line in the table, and one in CMakeLists.txt.
namespace angles {
int verb(int argc, char** argv);
}
namespace beliefs {
int verb(int argc, char** argv);
}
namespace compare {
int verb(int argc, char** argv);
}
namespace conformance {
int verb(int argc, char** argv);
}
namespace curves {
int verb(int argc, char** argv);
}
namespace dispersion {
int verb(int argc, char** argv);
}
namespace heads {
int verb(int argc, char** argv);
}
namespace identify {
int verb(int argc, char** argv);
}
namespace inspect {
int verb(int argc, char** argv);
}
namespace keys {
int verb(int argc, char** argv);
}
namespace norms {
int verb(int argc, char** argv);
}
namespace pairs {
int verb(int argc, char** argv);
}
namespace phase {
int verb(int argc, char** argv);
}
namespace principles {
int verb(int argc, char** argv);
}
namespace retrieval {
int verb(int argc, char** argv);
}
namespace ring {
int verb(int argc, char** argv);
}
namespace sharpness {
int verb(int argc, char** argv);
}
namespace run {
int verb(int argc, char** argv);
}
namespace verdict {
int verb(int argc, char** argv);
}

#ifndef POSENC_READS_MODELS
namespace {
int absent(char** argv) {
  return program::guarded("posenc " + std::string(argv[0]), []() -> int {
    throw std::runtime_error("this posenc was built without nlohmann-json, which reads models");
  });
}
}  // namespace
int compare::verb(int, char** argv) { return absent(argv); }
int conformance::verb(int, char** argv) { return absent(argv); }
int identify::verb(int, char** argv) { return absent(argv); }
int inspect::verb(int, char** argv) { return absent(argv); }
int run::verb(int, char** argv) { return absent(argv); }
int verdict::verb(int, char** argv) { return absent(argv); }
#endif

namespace program {

std::span<verb const> verbs() {
  static constexpr verb all[]{
      {"curves", "How does attention change with distance?", curves::verb},
      {"run", "How well does a trained model predict a text, and what changes that?", run::verb},
      {"inspect", "How does a model encode positions? How far do heads see?", inspect::verb},
      {"verdict", "What do engines get wrong on such a model?", verdict::verb},
      {"conformance", "Does my engine compute what it should, case by case?", conformance::verb},
      {"compare", "What do two models differ in, and from which distance on?", compare::verb},
      {"identify", "Which rule made these frequencies?", identify::verb},
      {"angles", "How far off are angles at position n?", angles::verb},
      {"norms", "Which heads of a model may be positional?", norms::verb},
      {"heads", "Do my heads attend by position or by content?", heads::verb},
      {"pairs", "What does each frequency add to the scores of my head?", pairs::verb},
      {"keys", "What do keys in 8 or 4 bits cost?", keys::verb},
      {"sharpness", "How sharp is my softmax among my keys?", sharpness::verb},
      {"phase", "How sharp must softmax be among n keys?", phase::verb},
      {"dispersion", "How does the largest weight fall with the number of keys?", dispersion::verb},
      {"retrieval", "How much of a large set does a sharper softmax find?", retrieval::verb},
      {"ring", "Who has the work of a sequence split over processes?", ring::verb},
      {"principles", "How does one come to RoPE, step by step?", principles::verb},
      {"beliefs", "Is it so, what is said of RoPE?", beliefs::verb},
  };
  return all;
}

}  // namespace program
