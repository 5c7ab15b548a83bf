// The experiment over all seeds.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "experiment.hpp"
#include "interval.hpp"

namespace retrieval {

/// Accuracies in percent.
struct size_summary {
  std::size_t size = 0;
  by_rule<interval> accuracy;
  by_rule<interval> of_hard;  ///< of hard attention, above that of a rule, seed by seed
  by_rule<measurement> mean;
  by_rule<std::optional<double>> paper;  ///< accuracy where it is published
};

std::vector<size_summary> summarise(std::vector<std::size_t> const& sizes,
                                    std::vector<seed_result> const& results);

/// The accuracy in percent, [Velickovic 2024], where it is known.
std::optional<double> published(rule which, std::size_t size);

}  // namespace retrieval
