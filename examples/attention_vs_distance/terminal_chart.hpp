#pragma once

#include "chart.hpp"
#include "text.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace charts {

struct terminal_style {
  int columns = 100;  ///< Of the whole chart, at least 30.
  int rows = 14;      ///< Of the plot alone: title, axes and legend come on top.
  bool utf8 = false;
  bool colour = false;
};

/// What the terminal behind `stream` can show. Asks LC_ALL, LC_CTYPE and LANG, NO_COLOR, TERM and COLUMNS.
terminal_style detect(std::FILE* stream);

/// The lines of a chart, each `style.columns` wide.
std::vector<std::string> draw(chart const& c, terminal_style const& style);

/// Two charts side by side.
std::vector<std::string> beside(std::vector<std::string> const& left, std::vector<std::string> const& right, int gap);

}  // namespace charts
