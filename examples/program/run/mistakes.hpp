// The mistakes that engines are known to make, as plans of layers.
#pragma once

#include <string>
#include <vector>

#include "program/run/decoder.hpp"

namespace run {

struct named_plans {
  std::string name, says;
  std::vector<layer_plan> plans;
};

/// Each mistake that this model leaves room for, in all layers that do. Those of image positions,
/// which a text does not have, are left out.
std::vector<named_plans> mistaken_plans(decoder const& model);

}  // namespace run
