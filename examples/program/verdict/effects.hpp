// What a mistake does to angles and scores.
#pragma once

#include <vector>

#include "mistakes.hpp"
#include "posenc/model/model_description.hpp"
#include "verdict.hpp"

namespace verdicts {

/// Of 1024, 32,768 and 131,072 tokens. The score of random heads is q^T S k with S a rotation of
/// pairs of dims times the square of the attention factor, 1 elsewhere, and the factor on scores.
std::vector<effect> effects_of(posenc::layer_description const& right, made_mistake const& made);

}  // namespace verdicts
