// How wide UTF-8 text is, and how to make it fit.
#pragma once

#include <string>
#include <string_view>

namespace charts {

/// Columns on a terminal: one per code point, none for ANSI escapes.
int display_width(std::string_view text);

/// At most `columns` code points of `text`, each a single byte if not `utf8`. Invalid bytes and control characters,
/// which would upset terminals and XML, become "?".
std::string fitted(std::string_view text, int columns, bool utf8 = true);

}  // namespace charts
