// What a measurement says, in sentences that are computed from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporting/text.hpp"

namespace ring {

struct measurement;

std::string title_of(measurement const& m);
std::vector<std::string> reading(measurement const& m);

/// Empty if each ring's attention is that of one process; else what is not.
std::string what_differs(measurement const& m);

using charts::fixed;
using charts::grouped;
std::string in_bytes(std::uint64_t bytes);     ///< 256 KiB

}  // namespace ring
