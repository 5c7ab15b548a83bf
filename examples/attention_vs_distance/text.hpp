#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace charts {

/// The code points of UTF-8 text. What is invalid or a control character, unfit for terminals and XML, becomes "?".
std::vector<std::string_view> characters(std::string_view text);

/// `text`, shortened to at most `columns` characters; in ASCII if not in UTF-8.
std::string fitted(std::string_view text, int columns, bool utf8 = true);

/// Columns that a terminal needs for UTF-8 text, one per code point and none for ANSI escapes.
int display_width(std::string_view text);

}  // namespace charts
