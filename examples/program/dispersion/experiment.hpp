// Softmax over ever more keys, under each rule of temperature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "posenc/analysis/running_moments.hpp"
#include "posenc/encoding/score_row.hpp"
#include "scores.hpp"

namespace dispersion {

struct settings {
  shape scores = shape::uniform;
  double delta = 5.69;  ///< largest score less smallest: of Gemma 2B's mean head [Velickovic 2024]
  std::size_t largest = 131072;  ///< number of keys
  std::size_t draws = 8;
  std::uint64_t seed = 1;
  double scale = 0.43;         ///< of SSMax
  std::size_t trained = 8192;  ///< number of keys that log-n takes for trained
};

/// Rows of so many keys, over the draws; bounds at each row's own beta * delta, where delta is what
/// the settings say.
struct rows_of_length {
  std::size_t keys;
  posenc::running_moments beta = {}, entropy = {};  ///< entropy of the weights, in nats
  posenc::running_moments largest = {}, most = {},
                          most_published =
                              {};  ///< the largest weight, at most; at least it is 1 / keys
  posenc::running_moments smallest = {},
                          least = {};  ///< the smallest weight, at least; at most it is 1 / keys
};

/// A temperature as an encoding.
struct rule {
  std::string name;
  std::function<double(posenc::row_statistics const&)> beta;
  double inverse_temperature(posenc::row_statistics const& row) const { return beta(row); }
};

/// Softmax, and what the settings say.
std::vector<rule> rules(settings const& s);

struct curve {
  std::string rule;
  std::vector<rows_of_length> lengths;  ///< powers of two, and the largest
  posenc::running_moments off_at = {},
                          off_entropy = {};  ///< the first number of keys that is sharpened no
                                             ///< more, and the entropy of their scores
};

/// Shorter rows are the beginnings of longer ones. `progress` hears how much of the whole is done,
/// 0 to 1. Throws std::invalid_argument for settings no rule can have, std::logic_error if a weight
/// is outside of its bounds.
std::vector<curve> measure(settings const& s, std::function<void(double)> const& progress);

}  // namespace dispersion
