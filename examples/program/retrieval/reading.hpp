// What came out, in sentences that are computed from the numbers.
#pragma once

#include <string>
#include <vector>

#include "reporting/text.hpp"
#include "summary.hpp"

namespace retrieval {

std::vector<std::string> readings(std::vector<size_summary> const& summary,
                                  std::vector<seed_result> const& results, bool utf8);

/// "98.6 +- 0.3"
std::string with_interval(interval const& x, bool utf8);

using charts::fixed;

}  // namespace retrieval
