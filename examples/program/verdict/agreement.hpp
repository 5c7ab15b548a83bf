// Where a GGUF file and the config.json of its model disagree, and what llama.cpp computes then.
#pragma once

#include <string>
#include <vector>

#include "../verdict/verdict.hpp"
#include "posenc/model/model_description.hpp"
#include "program/verdict/verdict.hpp"

namespace comparing {

/// A description of a GGUF file, and the name of that file or of the config.json.
struct named_model {
  std::string name;
  posenc::model_description const& model;
};

/// Each difference is told as a mistake is: under the name of the setting, with what the engine
/// computes, the layers in which it does so, and what that does to angles, scores and keys.
///
/// The format alone makes these differences, which are none: numbers are floats; Llama's rule and
/// p-RoPE stand in a tensor; the converter permutes halves to interleaved pairs; which tokens are
/// those of an image is not told.
verdicts::verdict disagreement(named_model const& config, named_model const& gguf);

}  // namespace comparing
