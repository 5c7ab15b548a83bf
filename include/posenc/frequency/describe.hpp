// Wavelengths, turns within a context and last angles, per pair.
#pragma once

#include <cstddef>
#include <iomanip>
#include <limits>
#include <numbers>
#include <ostream>
#include <sstream>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// One pair within a context of a given number of tokens.
struct pair_description {
  std::size_t pair;   ///< its index, from 0
  double inv_freq;    ///< radians per position
  double wavelength;  ///< 2 pi / inv_freq, in tokens; infinite for frequency 0
  double turns;       ///< inv_freq * context / 2 pi
  double last_angle;  ///< inv_freq * (context - 1), the angle at the last position, in radians
};

/// All pairs; `os << describe(f, context)` prints them for people.
struct frequencies_description {
  std::size_t context;                  ///< in tokens
  double attention_factor;              ///< of cosines and sines
  std::vector<pair_description> pairs;  ///< in the order of the frequencies
};

/// Throws std::invalid_argument unless context is positive.
inline frequencies_description describe(frequencies const& f, std::size_t context) {
  detail::require(context > 0, "describe: context must be positive, got ", context);
  frequencies_description result{context, f.attention_factor(), {}};
  for (std::size_t i = 0; i < f.pairs(); ++i) {
    auto const inv_freq = f.inv_freq()[i], turn = 2 * std::numbers::pi;
    auto const wavelength =
        inv_freq == 0 ? std::numeric_limits<double>::infinity() : turn / inv_freq;
    result.pairs.push_back({i, inv_freq, wavelength, inv_freq * static_cast<double>(context) / turn,
                            inv_freq * static_cast<double>(context - 1)});
  }
  return result;
}

/// One line per pair, below a line with the names of the columns.
inline std::ostream& operator<<(std::ostream& os, frequencies_description const& d) {
  std::ostringstream text;  // keeps the stream's own format
  text << std::left << std::setw(6) << "pair" << std::right << std::setw(14) << "rad/position"
       << std::setw(16) << "wavelength" << std::setw(14) << "turns" << std::setw(16) << "last angle"
       << '\n';
  for (auto const& pair : d.pairs) {
    text << std::left << std::setw(6) << pair.pair << std::right << std::setprecision(6)
         << std::setw(14) << pair.inv_freq << std::setw(16);
    if (pair.inv_freq == 0) {
      text << "stands still";
    } else {
      text << pair.wavelength;
    }
    text << std::setw(14) << pair.turns << std::setw(16) << pair.last_angle << '\n';
  }
  return os << text.str();
}

}  // namespace posenc
