// What a measurement says, in sentences that are computed from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ring {

struct measurement;

std::string title_of(measurement const& m);
std::vector<std::string> reading(measurement const& m);

/// Empty if each ring's attention is that of one process; else what is not.
std::string what_differs(measurement const& m);

std::string fixed(double number, int digits);  ///< 0.25
std::string grouped(std::uint64_t number);     ///< 131,328
std::string in_bytes(std::uint64_t bytes);     ///< 256 KiB

}  // namespace ring
