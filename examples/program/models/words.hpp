// Numbers, layers and sentences as the verbs about models print them.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "reporting/text.hpp"

namespace program {

using charts::grouped;
std::string rounded(double number);       ///< four digits: 0.8729, 54,410, 3.069e-07

/// 0-4, 6-10 ... 54-58
std::string shown_layers(std::vector<std::size_t> const& layers);
/// How wide lines are at most.
inline constexpr std::size_t screen = 80;
/// `text` wrapped at 80 columns: the first line after `head`, the others indented as far.
void print_wrapped(std::ostream& os, std::string const& head, std::string_view text);

}  // namespace program
