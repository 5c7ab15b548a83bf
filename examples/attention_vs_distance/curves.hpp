// The curves of one model: each encoding's logit and weight against distance, with plain and with
// adaptive softmax.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models.hpp"
#include "posenc/analysis/distance_profile.hpp"

inline constexpr std::string_view all_encodings[] = {"rope", "p-rope", "nope", "alibi",
                                                     "sinusoidal"};

struct curve {
  std::string encoding;  ///< as people say it: "p-RoPE 0.75"
  bool own = false;      ///< the model itself uses it
  posenc::distance_profile plain, adaptive;
};

/// `progress` hears how much of the whole is done, 0 to 1. Throws std::invalid_argument for
/// settings no encoding can have.
std::vector<curve> compute(model const& m, std::vector<std::string> const& encodings,
                           std::vector<double> const& fractions,
                           posenc::profile_settings const& settings,
                           std::function<void(double)> const& progress);
