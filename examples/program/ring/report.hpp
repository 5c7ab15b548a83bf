// What was measured, for people to look at and for programs to read.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "reporting/terminal_chart.hpp"
#include "work.hpp"

namespace ring {

/// One split's ring.
struct outcome {
  split how;
  work counted;
  std::vector<double> computed, waited;  ///< seconds, [ranks][steps]
  difference off;
};

struct measurement {
  sequence of;
  std::size_t ranks;
  std::string encoding, temperature;
  double seconds_of_one_process;
  std::vector<outcome> outcomes;
};

/// A table, two charts, and what they say, as wide as style.columns.
void print(std::ostream& out, measurement const& m, charts::terminal_style style);

/// One line a split, rank and step.
void write_csv(std::ostream& out, measurement const& m);

/// Work by rank and by step, the time it took, and how well work is shared by any number of ranks.
std::string to_svg(measurement const& m);

}  // namespace ring
