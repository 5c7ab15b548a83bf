// What a rule of a model's settings makes of its keys.
#pragma once

#include <string>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Made by both readers, of config.json and of GGUF.
struct rope_result {
  std::string rule;  ///< as rotary_description has it
  frequencies_by_length frequencies;
  double mscale_factor = 1;                    ///< DeepSeek's factor on scores, g(mscale_all_dim)^2
  bool has_pair_factors = false;               ///< as rotary_description has it
  std::vector<model_setting> parameters = {};  ///< as rotary_description has them
};

}  // namespace detail
}  // namespace posenc
