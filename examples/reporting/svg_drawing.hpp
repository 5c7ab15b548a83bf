// Lines, texts and boxes of an SVG file, in colours for bright and for dark pages.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "reporting/scale.hpp"

namespace charts {

struct box {
  double x, y, width, height;
};

/// What is drawn lies over what was drawn before. Lengths are in pixels, y grows downwards.
///
/// Styles are classes, several of them separated by blanks: `title` and `label` of texts, and
/// `middle` and `end` where a text has its point; `grid`, `zero` and `axis` of lines; `pen` with a
/// colour of a curve, `s0` to `s6`, and `dashed`; `f0` to `f6` fill with such a colour, and `band`
/// with little of it; `ink` fills with the colour of texts, `frame` draws outlines.
class svg_drawing {
 public:
  svg_drawing();

  /// As much of a text as has room.
  void text(point at, double size, double room, std::string_view style, std::string_view text);
  void line(point from, point to, std::string_view style);
  void rectangle(box const& at, std::string_view style, double opacity = 1);
  /// Many of them in little space, to a tenth of a pixel.
  void rectangles(std::vector<box> const& all, std::string_view style, double opacity);
  /// One stroke.
  void path(std::vector<point> const& points, std::string_view style);
  /// From here on, what lies outside of the box is cut off, and places count from its corner.
  void begin_clip(box const& at);
  void end_clip();

  /// The whole file.
  std::string page(double width, double height) const;

 private:
  std::ostringstream body_;
};

/// Few texts are wider than this on average, whatever the font.
double text_width(std::string_view text, double size);

/// Of the curve with this number: a colour, and dashes when all colours have been used.
std::string pen_style(std::size_t curve);
/// Its band.
std::string band_style(std::size_t curve);

}  // namespace charts
