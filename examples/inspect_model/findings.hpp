// What a person would want to be told about a model's rotation.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/layer_encoding.hpp"

/// The first distance below `reach` at which B(m) = sum over pairs of cos(m inv_freq) is negative, if there is one: from there on a key
/// like the query scores below a random one on average. [Men 2024, theorem 4.1]
std::optional<std::size_t> first_negative(posenc::frequencies const& f, std::size_t reach);

/// How far apart a query and a key of such a layer can be, in tokens: its window, its chunk, or the whole context.
std::size_t reach_of(posenc::layer_encoding const& kind, std::size_t context);

/// One sentence each.
std::vector<std::string> findings(posenc::layer_encoding const& kind, posenc::frequencies const& f, std::size_t context);
