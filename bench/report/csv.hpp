// report.csv: one line per case; fields that do not apply are empty.
#pragma once

#include <cstdio>
#include <ostream>
#include <string>

#include "report.hpp"

namespace bench {

inline std::string csv_field(number x) {
  if (!x) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", *x);
  return text;
}

inline void write_csv(std::ostream& out, report const& r) {
  out << "suite,case,type,layout,head_dim,where,ns_per_row,of_limit,times_plain_loop,times_eigen,"
         "max_abs_error\n";
  for (auto const& c : r.cases()) {
    if (!report::has_run(c)) continue;
    out << c.suite << ',' << c.name << ',' << c.type << ',' << c.layout << ',' << c.head_dim << ','
        << c.where;
    for (auto const x :
         {r.ns_per_row(&c), r.of_limit(c), r.times_plain_loop(c), r.times_eigen(c), c.error})
      out << ',' << csv_field(x);
    out << '\n';
  }
}

}  // namespace bench
