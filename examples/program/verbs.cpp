#include "program/verbs.hpp"

// A verb is a folder that defines NAME_verb, a name and a line here, and a line in CMakeLists.txt.
// extern "C" lets each folder define it in a namespace.
using function = int(int argc, char** argv);
extern "C" {
function angles_verb, beliefs_verb, curves_verb, dispersion_verb, heads_verb, inspect_verb,
    keys_verb, norms_verb, pairs_verb, phase_verb, principles_verb, retrieval_verb, ring_verb,
    sharpness_verb;
#ifdef POSENC_READS_MODELS
function compare_verb, conformance_verb, identify_verb, run_verb, verdict_verb;
#else
constexpr function *compare_verb = nullptr, *conformance_verb = nullptr, *identify_verb = nullptr,
                   *run_verb = nullptr, *verdict_verb = nullptr;
#endif
}

namespace program {

std::span<verb const> verbs() {
  static constexpr verb all[]{
      {"curves", "How does attention change with distance?", curves_verb},
      {"run", "How well does a model predict a text, and what if ...?", ::run_verb},
      {"inspect", "How does a model encode positions? How far do heads see?", inspect_verb},
      {"verdict", "What do engines get wrong on a model?", verdict_verb},
      {"conformance", "Does my engine compute what it should, case by case?", conformance_verb, 2},
      {"compare", "What differs between two models, and from which distance?", compare_verb},
      {"identify", "Which rule made these frequencies?", identify_verb},
      {"angles", "How far off are angles at position n?", angles_verb},
      {"norms", "Which frequencies do the heads of a model use?", norms_verb},
      {"heads", "Do my heads attend by position or by content?", heads_verb},
      {"pairs", "What does each frequency add to the scores of my head?", pairs_verb},
      {"keys", "What do keys in 8 or 4 bits cost?", keys_verb},
      {"sharpness", "How sharp is my softmax among my keys?", sharpness_verb},
      {"phase", "How sharp must softmax be among n keys?", phase_verb},
      {"dispersion", "How does the largest weight fall with the number of keys?", dispersion_verb},
      {"retrieval", "How much of a large set does a sharper softmax find?", retrieval_verb},
      {"ring", "Who has the work of a sequence split over processes?", ring_verb},
      {"principles", "How does one come to RoPE, step by step?", principles_verb},
      {"beliefs", "Which beliefs about RoPE are true?", beliefs_verb},
  };
  return all;
}

}  // namespace program
