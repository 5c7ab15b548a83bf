// A report in Markdown: all tables of one machine for the screen, what users run for the page.
#pragma once

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "machine.hpp"
#include "report.hpp"

namespace bench {

inline void write_wrapped(std::ostream& out, std::string const& text, char const* indent = "") {
  std::istringstream words(text);
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    bool const breaks = column + 1 + word.size() > 100;
    if (column > 0) out << (breaks ? "\n" + std::string(indent) : " ");
    column = (breaks || column == 0 ? std::string(indent).size() : column + 1) + word.size();
    out << word;
  }
  out << '\n';
}

/// Three significant digits.
inline std::string shown(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x);
  return text;
}
/// As shown, below 1 with as many decimals as show that it is below: 0.74, 0.998.
inline std::string shown_ratio(number x) {
  if (!x) return "–";
  auto text = shown(*x);
  if (*x < 1 && text == "1.00") {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4f", std::min(*x, 0.9999));
    text = digits;
  }
  return text;
}

/// What the cells of a table have beside their nanoseconds.
struct cell_parts {
  bool limit = false, baseline = false, beside = false, is_cost = false;

  /// The names of the numbers of a cell.
  std::string names() const {
    return std::string("ns") + (limit ? " · speed / yardstick" : "") +
           (baseline ? " · speed / best baseline" : "") +
           (!beside   ? ""
            : is_cost ? " · time / time without it"
                      : " · speed / its multiply-adds");
  }
};

/// "!" where c, whose time comes into the number before, never saw a quiet moment.
inline std::string noise_mark(report const& r, measured_case const* c) {
  return c != nullptr && r.is_noisy(*c) ? "!" : "";
}

inline std::string cell(report const& r, measured_case const& c, cell_parts const& parts) {
  auto text = shown(*r.ns(&c)) + noise_mark(r, &c);
  auto const add = [&](measured_case const* with, number ratio) {
    text += " · " + shown_ratio(ratio) + noise_mark(r, with);
  };
  auto const* const fastest = r.fastest_baseline(c);
  if (parts.limit) add(c.limit, r.ratio(c.limit, c));
  if (parts.baseline) add(fastest, r.ratio(fastest, c));
  if (parts.beside) {
    bool const is_cost = c.in->shows == cells::cost && c.beside != nullptr;
    add(c.beside, is_cost ? r.ratio(&c, *c.beside) : r.ratio(c.beside, c));
  }
  return text;
}

inline bool is_shown(measured_case const& c, table const& t) {
  return c.in == &t && c.is_ours() && report::has_run(c);
}

/// What ggml's op takes, if it was measured, which is never the fastest baseline.
inline void write_ggml(std::ostream& out, report const& r, table const& t, std::string const& line,
                       std::string const& name, std::vector<std::string> const& columns) {
  std::string cells;
  bool any = false;
  for (auto const& column : columns) {
    cells += " | ";
    for (auto const& c : r.cases()) {
      if (c.in != &t || c.by != "ggml" || c.line != line || c.column != column) continue;
      if (auto const ns = r.ns(&c)) cells += shown(*ns) + noise_mark(r, &c), any = true;
    }
  }
  if (any) out << "| ggml, " << name << cells << " |\n";
}

/// Some lines of a table under the names of its columns and numbers, unless these stand above.
inline void write_lines(std::ostream& out, report const& r, table const& t,
                        std::vector<page_line> const& lines, std::vector<std::string>& above) {
  std::vector<std::string> columns;
  cell_parts parts;
  for (auto const& c : r.cases()) {
    if (!is_shown(c, t) || std::ranges::count(lines, c.line, &page_line::line) == 0) continue;
    if (std::ranges::count(columns, c.column) == 0) columns.push_back(c.column);
    parts.limit |= c.limit != nullptr, parts.baseline |= !c.baselines.empty();
    parts.beside |= c.beside != nullptr;
    parts.is_cost |= t.shows == cells::cost;
  }
  if (columns.empty()) return;
  auto heading = columns;
  heading.push_back(parts.names());
  if (heading != above) {
    auto const* const strong = above.empty() ? "" : "**";
    out << "| " << parts.names();
    for (auto const& column : columns) out << " | " << strong << column << strong;
    out << " |\n";
    if (above.empty()) {
      out << "|---";
      for (std::size_t i = 0; i < columns.size(); ++i) out << "|---";
      out << "|\n";
    }
    above = heading;
  }
  for (auto const& [line, name] : lines) {
    std::string cells;
    bool any = false;
    for (auto const& column : columns) {
      cells += " | ";
      for (auto const& c : r.cases()) {
        if (!is_shown(c, t) || c.line != line || c.column != column) continue;
        cells += cell(r, c, parts), any = true;
      }
    }
    if (any) out << "| " << name << cells << " |\n";
    write_ggml(out, r, t, line, name, columns);
  }
}

/// A table of its own, with all lines.
inline void write_table(std::ostream& out, report const& r, table const& t) {
  std::vector<page_line> lines;
  number error;
  for (auto const& c : r.cases()) {
    if (!is_shown(c, t)) continue;
    if (std::ranges::count(lines, c.line, &page_line::line) == 0) lines.push_back({c.line, c.line});
    if (c.error) error = std::max(*c.error, error.value_or(0));
  }
  if (lines.empty()) return;
  out << "\n### " << t.title << "\n\n";
  auto text = t.note;
  if (error) {
    char largest[32] = "0";
    if (*error != 0) std::snprintf(largest, sizeof largest, "%.1e", *error);
    text += ' ' + t.error + ": " + largest + '.';
  }
  if (!text.empty()) write_wrapped(out, text), out << '\n';
  std::vector<std::string> above;
  write_lines(out, r, t, lines, above);
}

/// Every cell with a baseline that is faster than posenc.
inline void write_slower(std::ostream& out, report const& r) {
  out << "\n### Where a baseline is faster\n\n";
  bool any = false;
  for (auto const& t : r.tables()) {
    std::string found;
    for (auto const& c : r.cases()) {
      if (c.in != &t || !c.is_ours()) continue;
      std::string faster;
      for (auto const* baseline : c.baselines) {
        auto const ratio = r.ratio(baseline, c);
        if (!ratio || *ratio >= 1) continue;
        faster += (faster.empty() ? "" : ", ") + baseline->by + ' ' + shown_ratio(ratio) +
                  noise_mark(r, baseline);
      }
      if (faster.empty()) continue;
      found += (found.empty() ? "- **" + t.title + "** " : "; ") + c.line + " at " + c.column +
               ": " + faster;
    }
    if (found.empty()) continue;
    if (!any) out << "Its time / ours.\n\n";
    write_wrapped(out, found, "  ");
    any = true;
  }
  if (!any) out << "Nowhere.\n";
}

inline void write_heading(std::ostream& out, report const& r) {
  auto const n = r.count();
  out << "## " << section_title() << "\n\n";
  auto const quiet = n.noisy_cases == 0
                         ? std::string("every case has some")
                         : "cases without one, marked `!`: " + std::to_string(n.noisy_cases);
  write_wrapped(out, made_by() + ' ' + std::to_string(n.all - n.left_out) + " of " +
                         std::to_string(n.all) + " samples count (" + std::to_string(n.repeated) +
                         " disturbed ones were taken again); " + quiet + '.');
}

/// All tables, for the screen.
inline void write_section(std::ostream& out, report const& r) {
  write_heading(out, r);
  for (auto const& t : r.tables()) write_table(out, r, t);
  write_slower(out, r);
}

/// What users run, as one table, for the page. picture: the name of its file.
inline void write_page_section(std::ostream& out, report const& r, std::string const& picture) {
  write_heading(out, r);
  out << "\n![Time to rotate a head, by each way](" << picture << ")\n\n";
  std::vector<std::string> above;
  for (auto const& t : r.tables()) write_lines(out, r, t, t.on_page, above);
}

}  // namespace bench
