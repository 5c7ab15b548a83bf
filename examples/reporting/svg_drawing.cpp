#include "reporting/svg_drawing.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <locale>

#include "reporting/text.hpp"

namespace charts {
namespace {

// Okabe and Ito's colours, which colour-blind readers tell apart too; without their yellow, too
// pale for a line.
constexpr std::array on_white{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                              "#e69f00", "#56b4e9", "#000000"};
// The same hues, as bright as a dark page needs.
constexpr std::array on_black{"#3d9be9", "#f08044", "#2fc596", "#e79cc4",
                              "#f2b632", "#9bd7fa", "#ffffff"};

struct shades {
  char const *paper, *ink, *title, *label, *grid, *zero, *axis;
};
constexpr shades bright{"#fff", "#333", "#222", "#666", "#e8e8e8", "#aaa", "#888"},
    dark{"#0d1117", "#d5dae0", "#f0f3f6", "#9aa4af", "#262c34", "#56606b", "#6e7883"};

void put_colours(std::ostream& out, shades const& of, std::array<char const*, 7> const& palette) {
  out << ".paper{fill:" << of.paper << "}text,.ink{fill:" << of.ink << "}.title{fill:" << of.title
      << "}.label{fill:" << of.label << "}.grid{stroke:" << of.grid << "}.zero{stroke:" << of.zero
      << "}.axis,.frame{stroke:" << of.axis << "}";
  for (std::size_t i = 0; i < palette.size(); ++i)
    out << ".s" << i << "{stroke:" << palette[i] << "}.f" << i << "{fill:" << palette[i] << "}";
}

// A number of tenths, with a blank before it unless it comes first or its sign parts it from the
// one before.
std::string tenths(double number, bool first) {
  auto const all = std::llround(number), whole = std::abs(all) / 10, tenth = std::abs(all) % 10;
  std::string text = all < 0 ? "-" : first ? "" : " ";
  if (whole != 0 || tenth == 0) text += std::to_string(whole);
  if (tenth != 0) text += '.' + std::to_string(tenth);
  return text;
}

}  // namespace

svg_drawing::svg_drawing() { body_.imbue(std::locale::classic()); }

void svg_drawing::text(point at, double size, double room, std::string_view style,
                       std::string_view text) {
  body_ << "<text x='" << at.x << "' y='" << at.y << "' font-size='" << size << "'";
  if (!style.empty()) body_ << " class='" << style << "'";
  body_ << ">";
  for (char const c : fitted(text, static_cast<int>(room / text_width("x", size)))) {
    if (c == '&')
      body_ << "&amp;";
    else if (c == '<')
      body_ << "&lt;";
    else if (c == '>')
      body_ << "&gt;";
    else
      body_ << c;
  }
  body_ << "</text>\n";
}

void svg_drawing::line(point from, point to, std::string_view style) {
  body_ << "<path class='" << style << "' d='M" << from.x << ' ' << from.y;
  if (from.y == to.y)
    body_ << 'H' << to.x;
  else if (from.x == to.x)
    body_ << 'V' << to.y;
  else
    body_ << 'L' << to.x << ' ' << to.y;
  body_ << "'/>\n";
}

void svg_drawing::rectangle(box const& at, std::string_view style, double opacity) {
  body_ << "<rect x='" << at.x << "' y='" << at.y << "' width='" << at.width << "' height='"
        << at.height << "' class='" << style << "'";
  if (opacity < 1) body_ << " fill-opacity='" << opacity << "'";
  body_ << "/>\n";
}

void svg_drawing::rectangles(std::vector<box> const& all, std::string_view style, double opacity) {
  body_ << "<path class='" << style << "' fill-opacity='" << opacity << "' d='";
  auto const place = [](double x) { return std::round(10 * x); };
  for (auto const& [x, y, width, height] : all) {
    auto const across = place(x + width) - place(x), down = place(y + height) - place(y);
    body_ << 'M' << tenths(place(x), true) << tenths(place(y), false) << 'h' << tenths(across, true)
          << 'v' << tenths(down, true) << 'h' << tenths(-across, true) << 'z';
  }
  body_ << "'/>\n";
}

void svg_drawing::path(std::vector<point> const& points, std::string_view style) {
  // Steps in tenths of a pixel, as short as SVG has them, make a file a third as long as places
  // would.
  std::string steps;
  bool stepping = false;
  point at{0, 0};
  for (std::size_t i = 0; i < points.size(); ++i) {
    point const next{std::round(10 * points[i].x), std::round(10 * points[i].y)};
    bool const level = i > 0 && i + 1 < points.size() && next.y == at.y &&
                       std::round(10 * points[i + 1].y) == at.y && next.x >= at.x &&
                       points[i + 1].x >= points[i].x;
    if (level) continue;
    bool const first = i == 0, second = !first && !stepping;
    steps += first ? "M" : second ? "l" : "";
    steps += tenths(next.x - at.x, first || second) + tenths(next.y - at.y, false);
    stepping = !first;
    at = next;
  }
  body_ << "<path class='" << style << "' d='" << steps
        << (points.size() == 1 ? "h1.5h-3'/>\n" : "'/>\n");
}

void svg_drawing::begin_clip(box const& at) {
  // An svg element within another cuts off what is outside of it.
  body_ << "<svg x='" << at.x << "' y='" << at.y << "' width='" << at.width << "' height='"
        << at.height << "'>\n";
}
void svg_drawing::end_clip() { body_ << "</svg>\n"; }

std::string svg_drawing::page(double width, double height) const {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
      << "' width='" << width << "' height='" << height
      << "' font-family='system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, "
         "sans-serif'>\n<style>.title{font-weight:600}.middle{text-anchor:middle}"
         ".end{text-anchor:end}.pen{fill:none;stroke-width:1.6;stroke-linecap:round;"
         "stroke-linejoin:round}.dashed{stroke-dasharray:5 4}.band{fill-opacity:.16}"
         ".frame{fill:none}\n";
  put_colours(out, bright, on_white);
  out << "\n@media (prefers-color-scheme:dark){";
  put_colours(out, dark, on_black);
  out << ".band{fill-opacity:.28}}</style>\n<rect width='100%' height='100%' class='paper'/>\n"
      << body_.str() << "</svg>\n";
  return out.str();
}

double text_width(std::string_view text, double size) { return 0.6 * size * display_width(text); }

std::string pen_style(std::size_t curve) {
  return "pen s" + std::to_string(curve % on_white.size()) +
         (curve / on_white.size() % 2 == 1 ? " dashed" : "");
}
std::string band_style(std::size_t curve) {
  return "band f" + std::to_string(curve % on_white.size());
}

}  // namespace charts
