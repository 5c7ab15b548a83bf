// How sharp attention must be, and how sharp models make it: the phase figure.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "reporting/terminal_chart.hpp"

namespace phase {

/// Sharpness is the inverse temperature beta. What is needed, by three papers, against what rules
/// of temperature give, from 16 to 2^20 keys.
struct phase_figure {
  /// scale: of SSMax. trained: number of keys that log n and YaRN take for trained.
  explicit phase_figure(double scale = 0.43, std::size_t trained = 8192);

  charts::chart rules;  ///< of a token among others that are all as like it: the phase boundary for
                        ///< some similarities, and rules that models have
  charts::chart rows;  ///< the beta that gives the largest score half the weight, by how the scores
                       ///< of a row lie, and twice the critical one, its bound
  std::string reading;  ///< what they say, in sentences
};

/// Both charts, a table and the reading, as wide as style.columns.
void print(std::ostream& out, phase_figure const& figure, charts::terminal_style style);

/// One line a curve and number of keys.
void write_csv(std::ostream& out, phase_figure const& figure);

std::string to_svg(phase_figure const& figure);

}  // namespace phase
