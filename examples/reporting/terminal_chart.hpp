// Charts in characters: braille dots where the terminal knows UTF-8, ASCII elsewhere.
#pragma once

#include <cstdio>
#include <iosfwd>
#include <string>
#include <vector>

#include "reporting/chart.hpp"
#include "reporting/text.hpp"

namespace charts {

/// The columns of a terminal. Lines wrap in one that is narrower than the least.
inline constexpr int least_columns = 40, most_columns = 400;

struct terminal_style {
  int columns = 100;  ///< the width of the whole chart, at least 30
  int rows = 14;      ///< the height of the plot; title, axes and legend come on top
  bool utf8 = false;
  bool colour = false;
};

/// The style of the terminal behind `stream`. Asks LC_ALL, LC_CTYPE or LANG, NO_COLOR, TERM, and
/// COLUMNS if it must; its columns are least_columns to most_columns.
terminal_style detect(std::FILE* stream);

/// The lines of a chart, each `style.columns` wide.
std::vector<std::string> draw(chart c, terminal_style style);

/// Two charts side by side, with a plot of so many rows each, and an empty line under them.
void print_beside(std::ostream& out, chart const& left, chart const& right, terminal_style style,
                  int rows);

}  // namespace charts
