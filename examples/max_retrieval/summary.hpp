// The experiment over all seeds.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "experiment.hpp"
#include "interval.hpp"

namespace max_retrieval {

/// Accuracies in percent.
struct size_summary {
  std::size_t size = 0;
  std::array<interval, 3> accuracy;  ///< [rules]
  std::array<interval, 3> gain;      ///< accuracy above that of the plain softmax, seed by seed
  interval lost,
      sharpness_lost;  ///< of the plain softmax since the smallest size: accuracy, largest weight
  std::array<measurement, 3> mean;
  std::array<std::optional<double>, 3> paper;  ///< accuracy where it is published
};

std::vector<size_summary> summarise(std::vector<std::size_t> const& sizes,
                                    std::vector<seed_result> const& results);

/// The accuracy in percent, [Velickovic 2024], where it is known.
std::optional<double> published(rule which, std::size_t size);

}  // namespace max_retrieval
