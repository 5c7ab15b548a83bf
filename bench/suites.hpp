// The suites of the report, one per folder.
#pragma once

#include "report/report.hpp"

namespace bench {

void add_rotation(report&);
void add_around(report&);
void add_rows(report&);
void add_attention(report&);

}  // namespace bench
