#pragma once

/// Frequencies without their rests, for oracles that take doubles.

#include <vector>

#include "posenc/frequency/frequencies.hpp"

inline posenc::frequencies of_doubles(posenc::frequencies const& f) {
  return posenc::frequencies(std::vector<double>(f.inv_freq().begin(), f.inv_freq().end()),
                             f.attention_factor());
}
