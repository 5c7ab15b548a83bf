// The picture of a report: for every case of the pictured tables, the speed of each way as a part
// of the limit's. An SVG that follows the reader's light or dark theme.
#pragma once

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "report.hpp"

namespace bench {

class picture {
 public:
  /// machine: the CPU; made_by: compiler and commit.
  picture(report const& r, std::string machine, std::string made_by)
      : report_(r), machine_(std::move(machine)), made_by_(std::move(made_by)) {
    for (auto const& t : r.tables()) {
      if (t.in_picture) add(t);
    }
  }

  void write(std::ostream& out) const {
    auto const width = left + columns_.size() * panel, height = top + lines_.size() * pitch + 80;
    out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
        << "' width='" << width << "' height='" << height
        << "' font-family='system-ui, sans-serif' font-size='12'>\n"
        << style << "<rect width='100%' height='100%' class='paper'/>\n";
    text(out, 16, 28, "Speed of rotation in place, on " + machine_, "title");
    text(out, 16, 48, made_by_);
    write_legend(out);
    text(out, left - 10, top - 18, "head_dim", "", "end");
    auto const bottom = height - 74;
    for (std::size_t i = 0; i < columns_.size(); ++i) write_axis(out, i, bottom);
    text(out, left, bottom + 40,
         "Speed, as a part of that of scaling the same numbers in place: 1 is the limit, further "
         "right is faster, beyond 1.2 stands at 1.2.");
    text(out, left, bottom + 57,
         "A panel: how much is rotated, over and over, by one core. A line: the head_dim of a type "
         "and a layout.");
    for (std::size_t i = 0; i < lines_.size(); ++i) write_line(out, i);
    for (auto const& c : report_.cases()) {
      auto const at = std::ranges::find_if(lines_, [&](auto const& l) { return l.is_of(c); });
      if (at == lines_.end() || !c.is_ours()) continue;
      auto const y = y_of(static_cast<std::size_t>(at - lines_.begin()));
      for (auto const* b : c.baselines) dot(out, c, *b, y);
      dot(out, c, c, y);
    }
    out << "</svg>\n";
  }

 private:
  static constexpr std::size_t left = 118, top = 124, pitch = 17, panel = 200, inside = 180;
  static constexpr auto style =
      "<style>.paper{fill:#fff}text{fill:#444}.title{fill:#111;font-size:16px;font-weight:600}"
      ".group{fill:#111;font-weight:600}.grid{stroke:#ddd}.limit{stroke:#888}"
      ".way0{fill:#0072b2}.way1{fill:#d55e00}.way2{fill:#009e73}.way3{fill:#cc79a7}"
      ".way4{fill:#b8860b}\n"
      "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#b0b8c0}"
      ".title,.group{fill:#eee}.grid{stroke:#30363d}.limit{stroke:#8b949e}.way0{fill:#58a6ff}"
      ".way1{fill:#ff9040}.way2{fill:#3fd09f}.way3{fill:#e8a0cc}.way4{fill:#e3c04a}}</style>\n";

  struct line {
    table const* in;
    std::string name;  // empty: the title of the table
    bool is_of(measured_case const& c) const { return c.in == in && c.line == name; }
  };

  void add(table const& t) {
    auto const title = lines_.size();
    for (auto const& c : report_.cases()) {
      if (c.in != &t || !c.is_ours() || !report::has_run(c)) continue;
      note(columns_, c.column);
      note(ways_, c.by);
      for (auto const* b : c.baselines) note(ways_, b->by);
      if (lines_.size() == title) lines_.push_back({&t, ""});
      if (std::ranges::none_of(lines_, [&](auto const& l) { return l.is_of(c); }))
        lines_.push_back({&t, c.line});
    }
  }
  static void note(std::vector<std::string>& seen, std::string const& name) {
    if (std::ranges::count(seen, name) == 0) seen.push_back(name);
  }
  static std::size_t index_of(std::vector<std::string> const& in, std::string const& name) {
    return static_cast<std::size_t>(std::ranges::find(in, name) - in.begin());
  }
  static std::size_t y_of(std::size_t line) { return top + line * pitch + pitch / 2; }
  // 0 to 1.2 of the limit.
  static double x_of(std::size_t column, double speed) {
    return static_cast<double>(left + column * panel) +
           std::min(speed, 1.2) / 1.2 * static_cast<double>(inside);
  }

  static void text(std::ostream& out, double x, std::size_t y, std::string const& what,
                   char const* kind = "", char const* anchor = "start") {
    out << "<text x='" << x << "' y='" << y << "' class='" << kind << "' text-anchor='" << anchor
        << "'>" << what << "</text>\n";
  }
  static void circle(std::ostream& out, double x, std::size_t y, std::size_t way) {
    out << "<circle cx='" << x << "' cy='" << y << "' r='" << (way == 0 ? 4.5 : 3.5)
        << "' class='way" << way << "'/>\n";
  }

  void write_legend(std::ostream& out) const {
    double x = left + 5;
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      circle(out, x, 72, i);
      text(out, x + 9, 76, ways_[i]);
      x += 36 + 7.0 * static_cast<double>(ways_[i].size());
    }
  }
  void write_axis(std::ostream& out, std::size_t column, std::size_t bottom) const {
    text(out, x_of(column, 0.6), top - 18, columns_[column], "group", "middle");
    for (auto const& [speed, label] :
         {std::pair{0.0, "0"}, {0.25, ".25"}, {0.5, ".5"}, {0.75, ".75"}, {1.0, "1"}}) {
      auto const x = x_of(column, speed);
      out << "<line x1='" << x << "' x2='" << x << "' y1='" << top - 8 << "' y2='" << bottom
          << "' class='" << (speed == 1 ? "limit" : "grid") << "'/>\n";
      text(out, x, bottom + 16, label, "", "middle");
    }
  }
  void write_line(std::ostream& out, std::size_t i) const {
    auto const& l = lines_[i];
    if (l.name.empty()) return text(out, 16, y_of(i) + 4, l.in->title, "group");
    text(out, left - 10, y_of(i) + 4, l.name, "", "end");
    for (std::size_t column = 0; column < columns_.size(); ++column)
      out << "<line x1='" << x_of(column, 0) << "' x2='" << x_of(column, 1.2) << "' y1='" << y_of(i)
          << "' y2='" << y_of(i) << "' class='grid'/>\n";
  }
  void dot(std::ostream& out, measured_case const& of, measured_case const& way,
           std::size_t y) const {
    if (auto const speed = report_.ratio(of.limit, way))
      circle(out, x_of(index_of(columns_, of.column), *speed), y, index_of(ways_, way.by));
  }

  report const& report_;
  std::string machine_, made_by_;
  std::vector<std::string> columns_, ways_;  // posenc is the first way
  std::vector<line> lines_;
};

}  // namespace bench
