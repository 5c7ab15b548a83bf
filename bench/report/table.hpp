// The report for the screen, 130 columns wide: one group per suite, type and layout; one line per
// case and head_dim; four numbers per cache level.
#pragma once

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "report.hpp"

namespace bench {

inline std::string padded(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Three significant digits.
inline std::string shown(number x, std::size_t width) {
  if (!x) return std::string(width, ' ');
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", *x < 9.995 ? 2 : *x < 99.95 ? 1 : 0, *x);
  return padded(text, width);
}

struct table {
  static constexpr std::size_t label = 25, time = 9, ratio = 5, cell = time + 1 + 3 * ratio,
                               error_width = 9;

  static std::string group_name(measured_case const& c) {
    return c.suite + ", " + c.type + (c.layout.empty() ? "" : ", " + c.layout);
  }
  static std::string line_name(measured_case const& c) {
    return c.name + ' ' + std::to_string(c.head_dim);
  }

  static void write_group(std::ostream& out, report const& r,
                          std::vector<measured_case const*> const& group) {
    std::vector<std::string> columns;
    for (auto const* const column :
         {"L1", "L2", "L3", "DRAM", "n = 1024", "n = 4096", "decode", ""}) {
      if (std::ranges::any_of(group, [&](auto const* c) { return c->where == column; }))
        columns.emplace_back(column);
    }
    auto const row = [](std::string text) {
      return text + std::string(text.size() < label ? label - text.size() : 0, ' ');
    };
    out << '\n'
        << group_name(*group.front()) << '\n'
        << row("") << padded("max error", error_width);
    for (auto const& column : columns)
      out << padded(column.empty() ? "ns" : column, time) << padded("limit", ratio + 1)
          << padded("loop", ratio) << padded("Eig.", ratio);
    out << '\n';
    std::vector<std::string> written;
    for (auto const* first : group) {
      if (std::ranges::count(written, line_name(*first)) > 0) continue;
      written.push_back(line_name(*first));
      std::string numbers;
      double error = -1;
      for (auto const& column : columns) {
        auto const found = std::ranges::find_if(group, [&](auto const* c) {
          return c->where == column && line_name(*c) == line_name(*first);
        });
        if (found == group.end()) {
          numbers.append(cell, ' ');
          continue;
        }
        auto const& c = **found;
        error = std::max(error, c.error.value_or(-1));
        numbers += shown(r.ns_per_row(&c), time) + shown(r.of_limit(c), ratio + 1) +
                   shown(r.times_plain_loop(c), ratio) + shown(r.times_eigen(c), ratio);
      }
      char text[32] = "";
      if (error >= 0) std::snprintf(text, sizeof text, "%.1e", error);
      numbers = row(line_name(*first)) + padded(text, error_width) + numbers;
      out << numbers.substr(0, numbers.find_last_not_of(' ') + 1) << '\n';
    }
  }
};

inline void write_table(std::ostream& out, report const& r) {
  out << "L1, L2 ...: ns a row, one vector of head_dim numbers   limit: time of scaling the same "
         "bytes / ours (it fetches nothing\n"
         "                                                       ahead, as we do beyond the cache: "
         "more than 1 is possible there)\n"
         "loop: plain loop's time / ours                         Eig.: Eigen expression's time / "
         "ours\n"
         "L1: 1 token x 40 heads   L2: 16 x 32   L3: 512 x 32   DRAM: 4096 x 32, the caches that "
         "128 floats a head fit into\n"
         "attention: a row is a query and a key that it sees; limit is Eigen's rate at products of "
         "all queries and keys, or, of a\n"
         "step of decoding, reading the cache once; loop: three naive loops; Eig.: two matrix "
         "products and a softmax between\n";
  std::vector<std::vector<measured_case const*>> groups;
  for (auto const& c : r.cases()) {
    if (!c.in_table || !report::has_run(c)) continue;
    auto const group = std::ranges::find_if(groups, [&](auto const& g) {
      return table::group_name(*g.front()) == table::group_name(c);
    });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(&c);
  }
  for (auto const& group : groups) table::write_group(out, r, group);
  out << '\n';
  for (auto const& c : r.cases()) {
    auto const times = r.times_beside(c);
    if (!times) continue;
    out << c.name << ' ' << c.head_dim << " (" << table::group_name(c)
        << (c.where.empty() ? "" : ", " + c.where) << "): " << shown(times, 0)
        << " times as fast as " << c.beside->name << '\n';
  }
}

}  // namespace bench
