// Charts in characters: braille dots where the terminal knows UTF-8, ASCII elsewhere.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "reporting/chart.hpp"
#include "reporting/text.hpp"

namespace charts {

/// Of a terminal: texts and tables are as wide as the narrowest in a narrower one, whose lines
/// wrap.
inline constexpr int least_columns = 40, most_columns = 400;

struct terminal_style {
  int columns = 100;  ///< Of the whole chart, at least 30.
  int rows = 14;      ///< Of the plot; title, axes and legend come on top.
  bool utf8 = false;
  bool colour = false;
};

/// What the terminal behind `stream` shows. Asks LC_ALL, LC_CTYPE or LANG, NO_COLOR, TERM, and
/// COLUMNS if it must; its columns are least_columns to most_columns.
terminal_style detect(std::FILE* stream);

/// The lines of a chart, each `style.columns` wide.
std::vector<std::string> draw(chart c, terminal_style style);

/// Two charts side by side.
std::vector<std::string> beside(std::vector<std::string> const& left,
                                std::vector<std::string> const& right, int gap);

}  // namespace charts
