// What a trained network does with sets of one size, under each rule of softmax.
#pragma once

#include <array>

#include "experiment.hpp"
#include "network.hpp"

namespace max_retrieval {

/// Every rule on the same `sets` random sets.
std::array<measurement, 3> evaluate(network<float> const& n, random_numbers& random,
                                    std::size_t sets, std::size_t size);

}  // namespace max_retrieval
