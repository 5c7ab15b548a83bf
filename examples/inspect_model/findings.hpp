// What a person would want to be told about a model's rotation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/layer_description.hpp"

/// How far apart a query and a key of such a layer can be, in tokens: its window, its chunk, or the whole context.
std::size_t reach_of(posenc::layer_description const& kind, std::size_t context);

/// One sentence each.
std::vector<std::string> findings(posenc::layer_description const& kind, posenc::frequencies const& f, std::size_t context);

/// By how many radians the angle at the last position may be off, where angles are formed in float, as most code does.
double float_error(posenc::frequencies const& f, std::size_t context);
