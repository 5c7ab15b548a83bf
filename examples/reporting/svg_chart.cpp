#include "reporting/svg_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <locale>
#include <ostream>
#include <sstream>
#include <string_view>

#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace charts {
namespace {

// Okabe and Ito's colours, which colour-blind readers tell apart too; without their yellow, too
// pale for a line.
constexpr std::array palette{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                             "#e69f00", "#56b4e9", "#000000"};

constexpr double left = 52, right = 16, above = 50, below = 46, gap = 28, border = 28;
constexpr std::string_view dark = "fill='#222' font-weight='600'", grey = "fill='#666'";
constexpr std::string_view centred = "fill='#666' text-anchor='middle'";

struct box {
  double x, y, width, height;
};

// Few texts are wider than this on average, whatever the font.
double text_width(std::string_view text, double size) { return 0.6 * size * display_width(text); }

void add_text(std::ostream& out, point at, double size, double room, std::string_view attributes,
              std::string_view text) {
  out << "<text x='" << at.x << "' y='" << at.y << "' font-size='" << size << "' " << attributes
      << ">";
  for (char const c : fitted(text, static_cast<int>(room / text_width("x", size)))) {
    if (c == '&')
      out << "&amp;";
    else if (c == '<')
      out << "&lt;";
    else if (c == '>')
      out << "&gt;";
    else
      out << c;
  }
  out << "</text>\n";
}

void add_line(std::ostream& out, point from, point to, std::string_view attributes) {
  out << "<line x1='" << from.x << "' y1='" << from.y << "' x2='" << to.x << "' y2='" << to.y
      << "' " << attributes << "/>\n";
}

std::string colour_of(std::size_t curve) { return palette[curve % palette.size()]; }

std::string pen_of(std::size_t curve) {
  return "fill='none' stroke-width='1.6' stroke-linecap='round' stroke-linejoin='round' stroke='" +
         colour_of(curve) + (curve / palette.size() % 2 == 1 ? "' stroke-dasharray='5 4'" : "'");
}

// Keeps the lowest and the highest point of every half pixel, and places them in the box.
std::vector<point> thinned(std::vector<point> const& stroke, box const& in) {
  std::vector<point> result;
  std::ptrdiff_t kept = 0;  // of the present half pixel
  for (point const p : stroke) {
    point const next{p.x * in.width, (1 - p.y) * in.height};
    if (kept > 0 && std::floor(2 * result.back().x) != std::floor(2 * next.x)) kept = 0;
    result.push_back(next);
    if (++kept < 3) continue;
    auto const three = result.end() - 3;
    auto const [low, high] =
        std::minmax_element(three, result.end(), [](point a, point b) { return a.y < b.y; });
    result.erase(three + (3 - (low - three) - (high - three)));
    kept = 2;
  }
  return result;
}

void add_path(std::ostream& out, std::vector<point> const& points, std::string_view attributes) {
  out << "<path " << attributes << " d='";
  point at{0, 0};  // Steps in tenths of a pixel make a file half as long as places would.
  for (std::size_t i = 0; i < points.size(); ++i) {
    point const next{std::round(10 * points[i].x), std::round(10 * points[i].y)};
    out << (i == 0   ? "M"
            : i == 1 ? "l"
                     : " ")
        << (next.x - at.x) / 10 << ' ' << (next.y - at.y) / 10;
    at = next;
  }
  out << (points.size() == 1 ? "h1.5h-3'/>\n" : "'/>\n");
}

void add_curve(std::ostream& out, series const& curve, std::size_t i, plane const& axes,
               box const& in) {
  auto low = curve.low, high = curve.high;
  for (std::size_t k = 0; k < std::min(low.size(), high.size());
       ++k)  // A band with one edge is a gap, too.
    if (std::isnan(axes.y(low[k]) + axes.y(high[k]))) low[k] = high[k] = NAN;
  auto const floors = axes.strokes(curve.x, low), ceilings = axes.strokes(curve.x, high);
  for (std::size_t k = 0; k < std::min(floors.size(), ceilings.size()); ++k) {
    auto outline = thinned(floors[k], in), ceiling = thinned(ceilings[k], in);
    outline.insert(outline.end(), ceiling.rbegin(), ceiling.rend());
    add_path(out, outline, "fill-opacity='0.16' fill='" + colour_of(i) + "'");
  }
  for (auto const& stroke : axes.strokes(curve.x, curve.y))
    add_path(out, thinned(stroke, in), pen_of(i));
}

void add_axes(std::ostream& out, chart const& c, plane const& axes, box const& in) {
  double const end = in.x + in.width, bottom = in.y + in.height;
  for (auto const& [place, label] : axes.y.ticks(std::max(3, static_cast<int>(in.height / 25)))) {
    double const y = bottom - place * in.height;
    add_line(out, {in.x, y}, {end, y}, label == "0" ? "stroke='#aaa'" : "stroke='#e8e8e8'");
    add_text(out, {in.x - 8, y + 4}, 11, in.width, "fill='#666' text-anchor='end'", label);
  }
  for (auto const& [place, label] : axes.x.ticks(std::max(3, static_cast<int>(in.width / 60)))) {
    double const x = in.x + place * in.width;
    add_line(out, {x, in.y}, {x, bottom + 4}, "stroke='#e8e8e8'");
    add_text(out, {x, bottom + 18}, 11, in.width, centred, label);
  }
  add_line(out, {in.x, bottom}, {end, bottom}, "stroke='#888'");
  add_text(out, {in.x + in.width / 2, bottom + 36}, 12, in.width, centred, c.x.label);
}

// Rows of names; returns where they end.
double add_legend(std::ostream& out, chart const& c, point const start, double width) {
  constexpr double sample = 22, indent = 28, space = 16, row = 19;
  point at = start;
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    double const room = std::min(text_width(c.curves[i].name, 12), width - indent);
    if (at.x > start.x && at.x + indent + room > start.x + width) at = {start.x, at.y + row};
    add_line(out, {at.x, at.y - 4}, {at.x + sample, at.y - 4}, pen_of(i));
    add_text(out, {at.x + indent, at.y}, 12, room + 1, "fill='#333'", c.curves[i].name);
    at.x += indent + room + space;
  }
  return at.y + row;
}

// Returns where the chart ends, which is below `in` if it has a legend.
double add_chart(std::ostream& out, chart const& c, box const& in) {
  plane const axes(c);
  box const plot{in.x + left, in.y + above, in.width - left - right, in.height - above - below};
  add_text(out, {in.x, in.y + 14}, 14, in.width, dark, c.title);
  add_text(out, {in.x, in.y + 34}, 12, in.width, grey, c.y.label);
  add_axes(out, c, axes, plot);

  // An svg element within another cuts off what is outside of it.
  out << "<svg x='" << plot.x << "' y='" << plot.y << "' width='" << plot.width << "' height='"
      << plot.height << "'>\n";
  for (std::size_t i = 0; i < c.curves.size(); ++i) add_curve(out, c.curves[i], i, axes, plot);
  out << "</svg>\n";

  double const end = in.y + in.height;
  return c.curves.size() > 1 ? add_legend(out, c, {plot.x, end + 14}, plot.width) : end;
}

}  // namespace

std::string svg(std::vector<chart> const& charts, svg_page const& page) {
  auto const length = [](double least, double wanted) {
    return std::min(std::max(least, wanted), 5000.0);
  };
  double const width = length(200, page.chart_width), height = length(160, page.chart_height);
  auto const most = static_cast<std::size_t>(std::max(1, page.charts_per_row));
  std::size_t const across = std::clamp<std::size_t>(charts.size(), 1, most);
  double const inner = static_cast<double>(across) * (width + gap) - gap;

  std::ostringstream body;
  body.imbue(std::locale::classic());
  double bottom = border;
  if (!page.title.empty()) add_text(body, {border, bottom += 16}, 20, inner, dark, page.title);
  if (!page.subtitle.empty())
    add_text(body, {border, bottom += 24}, 13, inner, grey, page.subtitle);

  double top = bottom > border ? bottom += gap : bottom;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i > 0 && i % across == 0) top = bottom + gap;
    double const x = border + static_cast<double>(i % across) * (width + gap);
    bottom = std::max(bottom, add_chart(body, charts[i], {x, top, width, height}));
  }

  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << inner + 2 * border << ' '
      << bottom + border << "' width='" << inner + 2 * border << "' height='" << bottom + border
      << "' font-family='system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, "
         "sans-serif'>\n"
      << "<rect width='100%' height='100%' fill='#fff'/>\n"
      << body.str() << "</svg>\n";
  return out.str();
}

}  // namespace charts
