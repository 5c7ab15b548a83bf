// Kinds of keys: without outliers, with an outlying pair, with a bias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "errors.hpp"

namespace keys {

/// What kinds_of_keys makes heads of. Numbers are of unit variance unless said.
struct kind_settings {
  std::size_t head_dim = 128;
  double base = 1e6;
  double gain = 30;        ///< of the outlying pair of keys
  double pair_bias = 300;  ///< norm of a bias in one pair, or in three together
  double wide_bias = 22;   ///< norm of a bias over all dims
  sampling sample = {};

  head_rotation rotation() const;
};

struct kind_of_keys {
  std::string name, title;
  head_statistics of;
};

/// none, outlier, evened, shared, slow, turning, wide, qwen.
std::vector<kind_of_keys> kinds_of_keys(kind_settings const& s);

/// Their names.
std::vector<std::string> const& kind_names();

}  // namespace keys
