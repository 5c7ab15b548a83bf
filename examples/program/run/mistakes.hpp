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

/// Each mistake of the verb verdict that this model leaves room for, in all layers that do; mistakes
/// of image positions, which a text does not have, are left out. Behind them, mistakes that any
/// model leaves room for: pairs in the other layout, positions and masks that are off by one.
std::vector<named_plans> mistaken_plans(decoder const& model, std::size_t length);

}  // namespace run
