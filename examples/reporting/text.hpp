// How wide UTF-8 text is, and how to make it fit.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace charts {

/// Columns on a terminal: one per code point, none for ANSI escapes.
int display_width(std::string_view text);

/// At most `columns` code points of `text`, each a single byte if not `utf8`. Invalid bytes and
/// control characters, which would upset terminals and XML, become "?".
std::string fitted(std::string_view text, int columns, bool utf8 = true);

/// Right-aligned.
std::string cell(std::string const& text, std::size_t width);

/// A sentence in lines of at most `columns` (40 or more), all but the first indented by four.
void print_folded(std::ostream& out, std::string const& sentence, int columns);

}  // namespace charts
