// How wide UTF-8 text is, and how to make it fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace charts {

/// Columns on a terminal: one per code point, none for ANSI escapes.
int display_width(std::string_view text);

/// At most `columns` code points of `text`, each a single byte if not `utf8`. Invalid bytes and
/// control characters, which would upset terminals and XML, become "?".
std::string fitted(std::string_view text, int columns, bool utf8 = true);

/// Right-aligned, by the columns that a terminal shows.
std::string cell(std::string const& text, std::size_t width);
/// Left-aligned.
std::string padded(std::string const& text, std::size_t width);

std::string grouped(std::uint64_t number);     ///< 131,072
std::string fixed(double number, int places);  ///< 0.25, with so many places behind the point
/// "1 layer", "2 layers"
std::string counted(std::uint64_t number, std::string const& noun);
/// "a, b, c"; with " and " as the last, "a, b and c".
std::string joined(std::vector<std::string> const& texts, std::string const& last = ", ");

/// A sentence in lines of at most `columns` (40 or more), all but the first indented by four.
void print_folded(std::ostream& out, std::string const& sentence, int columns);

}  // namespace charts
