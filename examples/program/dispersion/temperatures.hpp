// The options of rules of temperature, which several verbs have.
#pragma once

#include <stdexcept>

#include "posenc/core/require.hpp"
#include "program/dispersion/experiment.hpp"
#include "program/options.hpp"

namespace dispersion {

inline void declare_temperatures(CLI::App& app, settings& s) {
  program::add_number(app, "--scale", s.scale, "scale of SSMax", "S");
  program::add_number(app, "--trained", s.trained,
                      "number of keys that log-n takes for trained", "L");
}

inline void declare_eps(CLI::App& app, double& eps) {
  program::add_number(app, "--eps", eps, "weight that is too small to be sharp", "E");
}
inline void check_eps(double eps) {
  if (!posenc::is_finite(eps) || eps <= 0 || eps >= 1)
    throw std::invalid_argument("--eps must be between 0 and 1");
}

}  // namespace dispersion
