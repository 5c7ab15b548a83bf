// The report for the screen, 100 columns wide: a group a suite, type and layout, a line a case and head_dim, four numbers a place.
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

/// Three digits that matter.
inline std::string shown(number x, std::size_t width) {
  if (!x) return std::string(width, ' ');
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", *x < 9.995 ? 2 : *x < 99.95 ? 1 : 0, *x);
  return padded(text, width);
}

struct table {
  static constexpr std::size_t label = 16, time = 6, ratio = 5, cell = time + 3 * ratio;

  static std::string group_name(measured_case const& c) { return c.suite + ", " + c.type + (c.layout.empty() ? "" : ", " + c.layout); }

  static void write_group(std::ostream& out, report const& r, std::vector<measured_case const*> const& group) {
    std::vector<std::string> places;
    double error = 0;
    for (auto const* c : group) {
      if (std::ranges::count(places, c->where) == 0) places.push_back(c->where);
      error = std::max(error, c->error.value_or(0));
    }
    char text[64];
    std::snprintf(text, sizeof text, error > 0 ? "largest error %.1e" : "", error);
    auto const name = group_name(*group.front());
    out << '\n' << name << padded(text, label + 4 * cell - name.size()) << "\n" << std::string(label, ' ');
    for (auto const& place : places) out << padded(place, cell);
    out << "\n" << std::string(label, ' ');
    for (std::size_t i = 0; i < places.size(); ++i)
      out << padded("ns", time) << padded("limit", ratio + 1) << padded("loop", ratio) << padded("Eig.", ratio - 1);
    out << '\n';
    std::vector<std::string> written;
    for (auto const* first : group) {
      auto const line = [](measured_case const* c) { return c->name + ' ' + std::to_string(c->head_dim); };
      if (std::ranges::count(written, line(first)) > 0) continue;
      written.push_back(line(first));
      auto text_of_line = line(first) + std::string(line(first).size() < label ? label - line(first).size() : 0, ' ');
      for (auto const& place : places) {
        auto const found = std::ranges::find_if(group, [&](auto const* c) { return c->where == place && line(c) == line(first); });
        if (found == group.end()) {
          text_of_line.append(cell, ' ');
          continue;
        }
        auto const& c = **found;
        text_of_line += shown(r.ns_per_row(&c), time) + shown(r.of_limit(c), ratio) + shown(r.times_plain_loop(c), ratio) +
                        shown(r.times_eigen(c), ratio);
      }
      out << text_of_line.substr(0, text_of_line.find_last_not_of(' ') + 1) << '\n';
    }
  }
};

inline void write_table(std::ostream& out, report const& r) {
  out << "ns: a row, that is one vector of head_dim numbers    limit: time of scaling the same bytes / ours (1 = no faster is possible)\n"
         "loop: plain loop's time / ours                       Eig.: Eigen expression's time / ours\n"
         "L1: 1 token x 40 heads   L2: 16 x 32   L3: 512 x 32   DRAM: 4096 x 32, the caches that 128 floats a head fit into\n";
  std::vector<std::vector<measured_case const*>> groups;
  for (auto const& c : r.cases()) {
    if (!c.in_table || !report::has_run(c)) continue;
    auto const group = std::ranges::find_if(groups, [&](auto const& g) { return table::group_name(*g.front()) == table::group_name(c); });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(&c);
  }
  for (auto const& group : groups) table::write_group(out, r, group);
  out << '\n';
  for (auto const& c : r.cases()) {
    auto const times = r.times_beside(c);
    if (!times) continue;
    out << c.name << ' ' << c.head_dim << " (" << table::group_name(c) << "): " << shown(times, 0) << " times as fast as " << c.beside->name
        << '\n';
  }
}

}  // namespace bench
