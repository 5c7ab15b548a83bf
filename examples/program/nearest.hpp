// The name that somebody meant who wrote another.
#pragma once

#include <string>
#include <vector>

namespace program {

/// The name that fewest letters, added, left out or exchanged, make of `given`. Nothing where that
/// is more than half of the letters.
std::string nearest(std::string const& given, std::vector<std::string> const& names);

/// "there is no WHAT GIVEN; the nearest is NAME", or where none is near, "there is no WHAT GIVEN;
/// OTHERWISE".
std::string there_is_no(std::string const& what, std::string const& given,
                        std::vector<std::string> const& names, std::string const& otherwise);

}  // namespace program
