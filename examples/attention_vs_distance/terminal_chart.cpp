#include "terminal_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "scale.hpp"

namespace charts {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }
std::string blanks(int count) { return std::string(index(std::max(count, 0)), ' '); }
std::string padded(std::string const& line, int columns) { return line + blanks(columns - display_width(line)); }

// 0 is no colour at all. All the others can be read on black and on white.
constexpr int grey = 244;
constexpr std::array palette{32, 166, 36, 169, 172, 98};

std::string painted(std::string const& text, int colour) {
  return colour == 0 || text.empty() ? text : "\x1b[38;5;" + std::to_string(colour) + "m" + text + "\x1b[0m";
}

struct pen {
  int colour;
  unsigned dashes;  // bit i: does it draw in dot columns i, i + 4, i + 8, ...?
  char symbol;      // in ASCII; 0 for small marks at three heights
};

constexpr unsigned solid = 0xf, sparse = 0x1;

pen pen_of(std::size_t curve, terminal_style const& style) {
  constexpr std::array dashes{solid, 0x3u, 0x5u};
  constexpr std::array symbols{'\0', 'o', 'x', '*', '#', '@', '%'};
  std::size_t const dashing = style.colour ? curve / palette.size() : curve;
  return {style.colour ? palette[curve % palette.size()] : 0, style.utf8 ? dashes[dashing % dashes.size()] : solid,
          symbols[curve % symbols.size()]};
}

// Dots in character cells: 2 x 4 to a cell in braille, 1 x 3 in ASCII.
class canvas {
 public:
  canvas(int columns, int rows, bool utf8)
      : utf8_(utf8), columns_(columns), rows_(rows), cells_(index(columns) * index(rows)) {}

  // The cell at places 0 ... 1 of the axes.
  int column(double place) const { return static_cast<int>(dot_at(place).x) / across(); }
  int row(double place) const { return static_cast<int>(dot_at({0, place}).y) / down(); }

  void draw(std::vector<point> const& stroke, pen const& with) {
    for (std::size_t i = 0; i < stroke.size(); ++i) draw_line(dot_at(stroke[i > 0 ? i - 1 : 0]), dot_at(stroke[i]), with);
  }

 private:
  ...
};

}  // namespace
}
