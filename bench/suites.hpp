// The suites of the report.
#pragma once

#include <vector>

#include "report/report.hpp"

namespace bench {

void add_rotation(report&);
void add_shapes(report&);
void add_around(report&);
void add_cache(report&);
void add_rows(report&);
void add_attention(report&);
/// cpus: those that the bench may use, the last one by its main thread.
void add_threads(report&, std::vector<int> const& cpus);
void add_rules(report&);

}  // namespace bench
