// What each pair of queries and keys contributes to their scores, measured and shown.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "posenc/analysis/running_moments.hpp"
#include "posenc/analysis/score_by_frequency.hpp"
#include "reporting/terminal_chart.hpp"

namespace pairs {

/// Over queries, each with its key.
struct pair_result {
  double inv_freq = 0;
  posenc::running_moments score = {}, budget = {}, query_norm = {}, key_norm = {};
};

struct result {
  std::string title = {};
  std::size_t context = 0;             ///< of the bands
  posenc::running_moments score = {};  ///< of all pairs and of dims that do not rotate
  std::vector<pair_result> pairs = {};
  posenc::score_by_turns bands = {};  ///< means
};

void print(std::ostream& out, result const& r, charts::terminal_style style);
void write_csv(std::ostream& out, result const& r);
std::string to_svg(result const& r);

}  // namespace pairs
