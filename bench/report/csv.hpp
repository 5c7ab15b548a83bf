// report.csv: one line per case, baselines too; fields that do not apply are empty.
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
  out << "table,line,column,by,ns,of_limit,of_fastest_baseline,of_beside,max_abs_error,quiet\n";
  for (auto const& c : r.cases()) {
    if (!report::has_run(c)) continue;
    out << c.in->path;
    for (auto const& text : {c.line, c.column, c.by}) out << ",\"" << text << '"';
    for (auto const x : {r.ns(&c), r.ratio(c.limit, c), r.ratio(r.fastest_baseline(c), c),
                         r.ratio(c.beside, c), c.error})
      out << ',' << csv_field(x);
    out << ',' << (r.is_noisy(c) ? "no" : "yes") << '\n';
  }
}

}  // namespace bench
