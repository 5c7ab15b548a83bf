#pragma once

/// Frequencies that are doubles and nothing more, for oracles that take doubles: what a rule makes has a rest beside them.

#include <vector>

#include "posenc/frequency/frequencies.hpp"

inline posenc::frequencies of_doubles(posenc::frequencies const& f) {
  return posenc::frequencies(std::vector<double>(f.inv_freq().begin(), f.inv_freq().end()), f.attention_factor());
}
