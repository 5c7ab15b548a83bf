// Lines of comma-separated values.
#pragma once

#include <charconv>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace charts {

/// How many digits a number of a file has.
enum class digits { nine, all };

/// Writes the names of columns, then lines of cells. A text is quoted where it has a comma, a quote
/// or a line's end.
class csv {
 public:
  csv(std::ostream& out, std::vector<std::string> const& columns, digits of_numbers = digits::nine)
      : out_(out), digits_(of_numbers) {
    for (auto const& name : columns) put(name);
    end_line();
  }

  template <class T>
  void put(T const& cell) {
    out_ << (is_first_ ? "" : ",");
    is_first_ = false;
    if constexpr (std::is_floating_point_v<T>) {
      char text[40];
      auto const end =
          digits_ == digits::all
              ? std::to_chars(text, text + sizeof text, cell).ptr
              : std::to_chars(text, text + sizeof text, cell, std::chars_format::general, 9).ptr;
      out_ << std::string_view(text, end);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      put_text(cell);
    } else {
      out_ << cell;
    }
  }
  void end_line() {
    out_ << '\n';
    is_first_ = true;
  }
  void line(auto const&... cells) {
    (put(cells), ...);
    end_line();
  }

 private:
  void put_text(std::string_view text) {
    if (text.find_first_of(",\"\n") == text.npos) {
      out_ << text;
      return;
    }
    out_ << '"';
    for (char const c : text) out_ << (c == '"' ? "\"\"" : std::string(1, c));
    out_ << '"';
  }

  std::ostream& out_;
  digits digits_;
  bool is_first_ = true;
};

}  // namespace charts
