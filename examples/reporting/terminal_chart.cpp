#include "reporting/terminal_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <utility>

#include "reporting/scale.hpp"

namespace charts {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }
std::string blanks(int count) { return std::string(index(std::max(count, 0)), ' '); }

// 0 is no colour at all. All the others can be read on black and on white.
constexpr int grey = 244;
constexpr std::array palette{32, 166, 36, 169, 172, 98};

std::string painted(std::string const& text, int colour) {
  return colour == 0 || text.empty()
             ? text
             : "\x1b[38;5;" + std::to_string(colour) + "m" + text + "\x1b[0m";
}

struct pen {
  int colour;
  unsigned dashes;      // bit i: does it draw in dot columns i, i + 4, i + 8, ...?
  char symbol;          // in ASCII; 0 for small marks at three heights
  bool behind = false;  // stays out of cells in use
};

constexpr unsigned solid = 0xf, sparse = 0x1;

pen pen_of(std::size_t curve, terminal_style const& style) {
  constexpr std::array dashes{solid, 0x3u, 0x5u};
  constexpr std::array symbols{'\0', 'o', 'x', '*', '#', '@', '%'};
  std::size_t const dashing = style.colour ? curve / palette.size() : curve;
  return {style.colour ? palette[curve % palette.size()] : 0,
          style.utf8 ? dashes[dashing % dashes.size()] : solid, symbols[curve % symbols.size()]};
}

// Dots in character cells: 2 x 4 to a cell in braille, 1 x 3 in ASCII.
class canvas {
 public:
  canvas(int columns, int rows, bool utf8)
      : utf8_(utf8), columns_(columns), rows_(rows), cells_(index(columns) * index(rows)) {}

  int dots_across() const { return columns_ * across(); }
  // The cell at 0 ... 1 of an axis.
  int column(double x) const { return static_cast<int>(dot_at({x, 0}).x) / across(); }
  int row(double y) const { return static_cast<int>(dot_at({0, y}).y) / down(); }

  void draw(std::vector<point> const& stroke, pen const& with) {
    for (std::size_t i = 0; i < stroke.size(); ++i)
      draw(dot_at(stroke[i > 0 ? i - 1 : 0]), dot_at(stroke[i]), with);
  }

  std::string text(int row) const {
    std::string line;
    for (int i = row * columns_; i < (row + 1) * columns_; ++i)
      line += cells_[index(i)].dots == 0
                  ? " "
                  : painted(glyph(cells_[index(i)]), cells_[index(i)].drawn_with.colour);
    return line;
  }

 private:
  struct cell {
    unsigned dots = 0;
    pen drawn_with = {};
  };

  int across() const { return utf8_ ? 2 : 1; }
  int down() const { return utf8_ ? 4 : 3; }
  point dot_at(point p) const {
    return {p.x * (columns_ * across() - 1) + 0.5, (1 - p.y) * (rows_ * down() - 1) + 0.5};
  }

  // From the top to the bottom of the line within each column of dots: so it has no holes, and
  // peaks are never lost.
  void draw(point a, point b, pen const& with) {
    if (a.x > b.x) std::swap(a, b);
    auto const height = [&](double x) {
      return x <= a.x ? a.y : x >= b.x ? b.y : std::lerp(a.y, b.y, (x - a.x) / (b.x - a.x));
    };
    for (int x = static_cast<int>(a.x); x <= static_cast<int>(b.x); ++x) {
      if ((with.dashes >> x % 4 & 1) == 0) continue;
      auto const [top, bottom] = std::minmax({height(x), height(x + 1)});
      int const last = std::min(static_cast<int>(std::floor(bottom)), rows_ * down() - 1);
      for (int y = std::max(static_cast<int>(std::floor(top)), 0); y <= last; ++y) dot(x, y, with);
    }
  }

  void dot(int x, int y, pen const& with) {
    constexpr unsigned braille[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell& hit = cells_[index(y / down() * columns_ + x / across())];
    if (with.behind && hit.dots != 0) return;
    hit = {hit.dots | (utf8_ ? braille[y % 4][x % 2] : 1u << y % 3), with};
  }

  std::string glyph(cell const& c) const {
    if (utf8_)
      return {'\xe2', static_cast<char>(0xa0 | c.dots >> 6),
              static_cast<char>(0x80 | (c.dots & 0x3f))};
    return {c.drawn_with.symbol != 0 ? c.drawn_with.symbol : " '-'.:.|"[c.dots]};
  }

  bool utf8_;
  int columns_, rows_;
  std::vector<cell> cells_;
};

void draw_curves(canvas& on, chart const& c, plane const& axes, terminal_style const& style) {
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    series const& curve = c.curves[i];
    pen const line = pen_of(i, style), edge{line.colour, sparse, line.symbol};
    for (auto const& stroke : axes.strokes(curve.x, curve.low)) on.draw(stroke, edge);
    for (auto const& stroke : axes.strokes(curve.x, curve.high)) on.draw(stroke, edge);
    for (auto const& stroke : axes.strokes(curve.x, curve.y)) on.draw(stroke, line);
  }
  int const faint = style.colour ? grey : 0;
  double const zero = c.y.logarithmic ? -1 : axes.y(0);
  on.draw({{0, zero}, {1, zero}}, {faint, sparse, 0, true});
  for (auto const& [value, label] : c.marks)
    on.draw({{axes.x(value), 0}, {axes.x(value), 1}}, {faint, solid, 0, true});
}

std::vector<std::string> legend(chart const& c, terminal_style const& style, int columns) {
  std::vector<std::string> lines;
  auto const add = [&](pen const& with, std::string const& name) {
    canvas sample(4, 1, style.utf8);
    sample.draw({{0, 0.5}, {1, 0.5}}, with);
    std::string const entry = sample.text(0) + " " + fitted(name, columns - 5, style.utf8);
    if (lines.empty() || display_width(lines.back() + "   " + entry) > columns)
      lines.push_back(entry);
    else
      lines.back() += "   " + entry;
  };
  for (std::size_t i = 0; i < c.curves.size(); ++i) add(pen_of(i, style), c.curves[i].name);
  if (has_band(c)) add({style.colour ? grey : 0, sparse, 0}, c.band);
  for (auto const& [value, label] : c.marks)
    lines.push_back(fitted((style.utf8 ? "│ " : "| ") + label, columns, style.utf8));
  return lines;
}

// The x axis and the labels of those ticks that have room for one.
std::array<std::string, 2> x_axis(canvas const& plot, scale const& x, int indent,
                                  terminal_style const& style) {
  int const columns = style.columns - indent;
  std::vector<std::string> axis(index(columns), style.utf8 ? "─" : "-");
  std::string labels = blanks(style.columns), line = blanks(indent - 1) + (style.utf8 ? "└" : "+");
  int free = 0;
  for (auto const& [place, label] : x.ticks(std::max(3, columns / 9))) {
    int const column = plot.column(place), size = display_width(label);
    int const at = std::min(indent + column - size / 2, style.columns - size);
    axis[index(column)] = style.utf8 ? "┬" : "+";
    if (at < free) continue;
    labels.replace(index(at), index(size), label);
    free = at + size + 1;
  }
  for (std::string const& piece : axis) line += piece;
  return {line, labels};
}

}  // namespace

std::vector<std::string> draw(chart c, terminal_style style) {
  style.columns = std::clamp(style.columns, 30, 1000);
  style.rows = std::clamp(style.rows, 4, 500);
  int const faint = style.colour ? grey : 0;

  plane const axes(c);
  auto const y_ticks = axes.y.ticks(std::max(4, style.rows / 2));
  int gutter = 0;
  for (tick const& t : y_ticks) gutter = std::max(gutter, display_width(t.label));
  int const indent = gutter + 2, columns = style.columns - indent;

  canvas plot(columns, style.rows, style.utf8);
  std::erase_if(c.marks, [&](mark const& m) { return !(axes.x(m.x) >= 0 && axes.x(m.x) <= 1); });
  c.curves = gathered(c, axes, plot.dots_across());
  draw_curves(plot, c, axes, style);
  std::vector<std::string> labels(index(style.rows));
  for (auto const& [place, label] : y_ticks) labels[index(plot.row(place))] = label;

  std::string const title = fitted(c.title, columns, style.utf8);
  std::vector<std::string> lines{blanks(indent) +
                                 (style.colour ? "\x1b[1m" + title + "\x1b[0m" : title)};
  if (!c.y.label.empty())
    lines.push_back(painted(fitted(c.y.label, style.columns, style.utf8), faint));
  for (int row = 0; row < style.rows; ++row) {
    std::string const& label = labels[index(row)];
    std::string const bar = label.empty() ? style.utf8 ? "│" : "|" : style.utf8 ? "┤" : "+";
    lines.push_back(painted(blanks(gutter - display_width(label)) + label + " " + bar, faint) +
                    plot.text(row));
  }
  for (std::string const& line : x_axis(plot, axes.x, indent, style))
    lines.push_back(painted(line, faint));
  if (!c.x.label.empty()) {
    std::string const label = fitted(c.x.label, columns, style.utf8);
    lines.push_back(blanks(indent + (columns - display_width(label)) / 2) + painted(label, faint));
  }
  if (c.curves.size() > 1 || has_band(c) || !c.marks.empty())
    for (std::string const& line : legend(c, style, columns))
      lines.push_back(blanks(indent) + line);

  for (std::string& line : lines) line = padded(line, index(style.columns));
  return lines;
}

void print_beside(std::ostream& out, chart const& left, chart const& right, terminal_style style,
                  int rows) {
  style.columns = std::max(30, (style.columns - 2) / 2);
  style.rows = rows;
  auto lefts = draw(left, style), rights = draw(right, style);
  for (std::size_t i = 0; i < std::max(lefts.size(), rights.size()); ++i) {
    out << padded(i < lefts.size() ? lefts[i] : "", index(style.columns) + 2)
        << (i < rights.size() ? rights[i] : "") << '\n';
  }
  out << '\n';
}

}  // namespace charts
