// What a trained network does with sets of one size, under each rule of softmax.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "experiment.hpp"
#include "network.hpp"

namespace retrieval {

/// Every rule on the same `sets` random sets; a map of the first of these.
std::pair<by_rule<measurement>, weight_map> evaluate(network<float> const& n,
                                                     posenc::adaptive_temperature const& own,
                                                     random_numbers& random, std::size_t sets,
                                                     std::size_t size);

/// Fitted to sets of these sizes. Of each: its entropy at beta 1, and the beta of 1 to 12 that
/// makes the right answer likeliest. Only sets count that a beta helps: whose right answer has a
/// probability below 0.9 at beta 1, and above 0.5 at the best. If these are too few for a fit, the
/// rule is beta 1.
posenc::adaptive_temperature fit_to(network<float> const& n, random_numbers& random,
                                    std::size_t sets, std::vector<std::size_t> const& sizes);

}  // namespace retrieval
