#include "terminal_chart.hpp"

#include "scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace charts {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::string blanks(int count) { return std::string(index(std::max(count, 0)), ' '); }

// 0 is no colour at all; the others read well on dark and on light backgrounds.
constexpr int grey = 244;
constexpr std::array palette{32, 166, 36, 169, 172, 98};

std::string painted(std::string const& text, int colour) {
  return colour == 0 || text.empty() ? text : "\x1b[38;5;" + std::to_string(colour) + "m" + text + "\x1b[0m";
}

struct pen {
  int colour;
  unsigned dashes;  // bit i: are columns i, i + 8, i + 16, ... of dots drawn?
  char symbol;      // in ASCII; 0 for small marks of three heights
};

pen pen_of(std::size_t curve, terminal_style const& style) {
  constexpr std::array dashes{0xffu, 0x33u, 0x55u, 0x11u};
  constexpr std::array symbols{'\0', 'o', 'x', '*', '#', '@', '%'};
  std::size_t const dashing = style.colour ? curve / palette.size() : curve;
  return {style.colour ? palette[curve % palette.size()] : 0,
          style.utf8 ? dashes[dashing % dashes.size()] : 0xffu, symbols[curve % symbols.size()]};
}

// Dots in character cells: 2 x 4 to a cell in braille, 1 x 3 in ASCII.
class canvas {
public:
  canvas(int columns, int rows, bool utf8)
      : utf8_(utf8), columns_(columns), rows_(rows), cells_(index(columns) * index(rows)) {}

  int dots_across() const { return utf8_ ? 2 : 1; }
  int dots_down() const { return utf8_ ? 4 : 3; }
  int width() const { return columns_ * dots_across(); }
  int height() const { return rows_ * dots_down(); }

  // Where the places 0 to 1 of a scale fall.
  double x(double place) const { return place * (width() - 1) + 0.5; }
  double y(double place) const { return (1 - place) * (height() - 1) + 0.5; }

  bool blank(int x, int y) const { return cells_[cell_of(x, y)].dots == 0; }

  void dot(int x, int y, pen const& with) {
    if (x < 0 || x >= width() || y < 0 || y >= height()) return;
    constexpr unsigned braille[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell& hit = cells_[cell_of(x, y)];
    hit.dots |= utf8_ ? braille[y % 4][x % 2] : 1u << (y % 3);
    hit.drawn_with = with;
  }

  std::string row(int r) const {
    std::string line, run;
    int colour = 0;
    for (cell const& c : std::span(cells_).subspan(index(r * columns_), index(columns_))) {
      if (c.dots != 0 && c.drawn_with.colour != colour) {
        line += painted(run, colour);
        run.clear();
        colour = c.drawn_with.colour;
      }
      run += glyph(c);
    }
    return line + painted(run, colour);
  }

private:
  struct cell {
    unsigned dots = 0;
    pen drawn_with{};
  };

  std::size_t cell_of(int x, int y) const { return index(y / dots_down() * columns_ + x / dots_across()); }

  std::string glyph(cell const& c) const {
    if (c.dots == 0) return " ";
    if (utf8_) return {'\xe2', static_cast<char>(0xa0 | c.dots >> 6), static_cast<char>(0x80 | (c.dots & 0x3f))};
    return std::string(1, c.drawn_with.symbol != 0 ? c.drawn_with.symbol : " '-'.:.|"[c.dots]);
  }

  bool utf8_;
  int columns_, rows_;
  std::vector<cell> cells_;
};

// How far up and down a curve reaches in every column of dots. Neighbours share an edge: no line has holes.
std::vector<range> reaches(std::vector<double> const& xs, std::vector<double> const& ys, scale const& x,
                           scale const& y, canvas const& on) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<range> result(index(on.width()), {infinity, -infinity});
  auto const reach = [&](int column, double height) {
    range& r = result[index(column)];
    r = {std::min(r.low, height), std::max(r.high, height)};
  };
  struct point {
    double x, y;
  };
  std::optional<point> last;
  for (std::size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
    point const now{on.x(x(xs[i])), on.y(y(ys[i]))};
    if (std::isnan(now.x) || std::isnan(now.y)) {
      last.reset();
      continue;
    }
    auto const [from, to] = std::minmax({last.value_or(now), now}, [](point a, point b) { return a.x < b.x; });
    for (int edge = static_cast<int>(from.x) + 1; edge <= static_cast<int>(to.x); ++edge) {
      double const height = std::lerp(from.y, to.y, (edge - from.x) / (to.x - from.x));
      reach(edge - 1, height);
      reach(edge, height);
    }
    reach(static_cast<int>(now.x), now.y);
    last = now;
  }
  return result;
}

void draw_curve(series const& curve, scale const& x, scale const& y, pen const& with, canvas& on) {
  int const sparse = 2 * on.dots_across();
  for (auto const* bound : {&curve.low, &curve.high}) {
    auto const reach = reaches(curve.x, *bound, x, y, on);
    for (int column = 0; column < on.width(); column += sparse)
      if (range const r = reach[index(column)]; r.low <= r.high)
        on.dot(column, static_cast<int>(std::floor(bound == &curve.low ? r.high : r.low)), with);
  }
  auto const reach = reaches(curve.x, curve.y, x, y, on);
  for (int column = 0; column < on.width(); ++column) {
    if ((with.dashes >> (column % 8) & 1) == 0) continue;
    auto const [low, high] = reach[index(column)];
    double const bottom = std::min(high, on.height() - 1.0);
    for (double dot = std::max(0.0, std::floor(low)); dot <= bottom; ++dot) on.dot(column, static_cast<int>(dot), with);
  }
}

void draw_zero(scale const& y, int colour, canvas& on) {
  double const height = on.y(y(0));
  if (!(height >= 0 && height < on.height())) return;
  for (int x = 0; x < on.width(); x += 2 * on.dots_across())
    if (on.blank(x, static_cast<int>(height))) on.dot(x, static_cast<int>(height), {colour, 0, 0});
}

std::string padded(std::string const& line, int columns) { return line + blanks(columns - display_width(line)); }

void add_legend(std::vector<std::string>& lines, chart const& c, terminal_style const& style, int indent) {
  std::string line = blanks(indent);
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    canvas sample(4, 1, style.utf8);
    pen const with = pen_of(i, style);
    for (int x = 0; x < sample.width(); ++x)
      if (with.dashes >> (x % 8) & 1) sample.dot(x, 1, with);
    std::string const entry = sample.row(0) + " " + fitted(c.curves[i].name, style.columns - indent - 5, style.utf8);
    if (display_width(line) > indent && display_width(line + entry) > style.columns) {
      lines.push_back(line);
      line = blanks(indent);
    }
    line += entry + "   ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  lines.push_back(line);
}

}  // namespace

std::vector<std::string> draw(chart const& c, terminal_style const& wanted) {
  terminal_style style = wanted;
  style.columns = std::clamp(style.columns, 30, 1000);
  style.rows = std::clamp(style.rows, 4, 500);
  int const faint = style.colour ? grey : 0;

  scale const x = x_scale(c), y = y_scale(c);
  std::vector<tick> const y_ticks = y.ticks(std::max(3, style.rows / 2));
  int gutter = 0;
  for (tick const& t : y_ticks) gutter = std::max(gutter, display_width(t.label));
  int const indent = gutter + 2, plot_columns = style.columns - indent;

  canvas plot(plot_columns, style.rows, style.utf8);
  for (std::size_t i = 0; i < c.curves.size(); ++i) draw_curve(c.curves[i], x, y, pen_of(i, style), plot);
  if (!c.y.logarithmic) draw_zero(y, faint, plot);

  std::vector<std::string> lines;
  std::string const title = fitted(c.title, plot_columns, style.utf8);
  lines.push_back(blanks(indent) + (style.colour ? "\x1b[1m" + title + "\x1b[0m" : title));
  if (!c.y.label.empty()) lines.push_back(painted(fitted(c.y.label, style.columns, style.utf8), faint));

  std::vector<std::string> labels(index(style.rows));
  for (tick const& t : y_ticks)
    labels[index(static_cast<int>(plot.y(y(t.value))) / plot.dots_down())] = t.label;
  for (int r = 0; r < style.rows; ++r) {
    std::string const& label = labels[index(r)];
    std::string const bar = label.empty() ? style.utf8 ? "│" : "|" : style.utf8 ? "┤" : "+";
    lines.push_back(painted(blanks(gutter - display_width(label)) + label + " " + bar, faint) + plot.row(r));
  }

  std::vector<bool> marked(index(plot_columns));
  std::string below = blanks(style.columns);
  int free_from = 0;
  for (tick const& t : x.ticks(std::max(3, plot_columns / 9))) {
    int const column = static_cast<int>(plot.x(x(t.value))) / plot.dots_across(), size = display_width(t.label);
    int const at = std::min(indent + column - size / 2, style.columns - size);
    marked[index(column)] = true;
    if (at < free_from) continue;
    below.replace(index(at), t.label.size(), t.label);
    free_from = at + size + 1;
  }
  std::string base = blanks(gutter + 1) + (style.utf8 ? "└" : "+");
  for (bool const mark : marked) base += mark ? style.utf8 ? "┬" : "+" : style.utf8 ? "─" : "-";
  lines.push_back(painted(base, faint));
  lines.push_back(painted(below, faint));

  if (!c.x.label.empty()) {
    std::string const label = fitted(c.x.label, plot_columns, style.utf8);
    lines.push_back(painted(blanks(indent + (plot_columns - display_width(label)) / 2) + label, faint));
  }
  if (c.curves.size() > 1) add_legend(lines, c, style, indent);
  for (std::string& line : lines) line = padded(line, style.columns);
  return lines;
}

std::vector<std::string> beside(std::vector<std::string> const& left, std::vector<std::string> const& right, int gap) {
  int width = 0;
  for (std::string const& line : left) width = std::max(width, display_width(line));
  std::vector<std::string> result(std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = padded(i < left.size() ? left[i] : "", width + gap);
    if (i < right.size()) result[i] += right[i];
  }
  return result;
}

}  // namespace charts
