// How an engine rotates, step by step, with places for the mistakes that are made.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "cases.hpp"

namespace conformance {

using pair_list = std::vector<std::array<std::size_t, 2>>;

struct recipe {
  std::size_t head_dim;
  numbers inv_freq;
  double attention_factor;
  pair_list pairs;         ///< dims that are read
  pair_list written = {};  ///< dims that are written, if others
  std::vector<std::size_t> axis_of_pair;
  std::vector<numbers> positions;  ///< [tokens][axes]
  std::vector<numbers> input;      ///< [tokens][head_dim]
  numbers gain_rates = {};         ///< xPos: ln of a pair's gain, per position
  double gain_power = 1;
  double factor_of_rest = 1;  ///< on dims that do not rotate
  double sine_into_x = -1, sine_into_y = 1;
  bool exchanges_cos_sin = false;
  int times = 1;
  precision of_positions = precision::float64, of_frequencies = precision::float64,
            of_angles = precision::float64, of_rows = precision::float64;
  // Beyond rounding as above: what cannot be told exactly, as errors that are allowed.
  precision loose_frequencies = precision::float64;
  precision loose_angles = precision::float64;  // and the frequencies
  precision loose_arithmetic = precision::float64;
  bool has_exact_angles = false;  ///< rather than within what doubles lose
  numbers before_ramp = {};       ///< unscaled frequencies, where the rule ramps from them
  double ramp_factor = 1;         ///< to these over the factor
};

/// The right way.
recipe recipe_of(test_case const& c);

/// Two mistakes may not go together: pairs must have dims of the head, frequencies and axes.
bool is_sound(recipe const& r);

/// The numbers that it gives.
answers followed(recipe const& r);

/// How far an engine that follows it may be off in each number.
answers bounds(recipe const& r, precision stored);

/// The frequencies before scaling, or nothing.
numbers unscaled(test_case const& c);

/// base^(-2i / dims), i < count.
numbers series(double base, double dims, std::size_t count);
pair_list halves_of(std::size_t first, std::size_t dims);
pair_list interleaved_of(std::size_t first, std::size_t dims);

}  // namespace conformance
