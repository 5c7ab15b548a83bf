// The suites of the report, each in a folder of its own.
#pragma once

#include "report/report.hpp"

namespace bench {

void add_rotation(report&);
void add_around(report&);
void add_rows(report&);
void add_attention(report&);

}  // namespace bench
