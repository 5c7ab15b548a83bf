#include "svg_chart.hpp"

#include "scale.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <locale>
#include <sstream>

namespace charts {
namespace {

// Okabe and Ito's colours, which colour-blind readers tell apart too; without their yellow, too pale for a line.
constexpr std::array palette{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

constexpr double left = 52, right = 16, above = 50, below = 46, gap = 28, border = 28;
constexpr std::string_view dark = "fill='#222' font-weight='600'", grey = "fill='#666'";

struct point {
  double x, y;
};

struct box {
  double x, y, width, height;
};

// Few texts are wider than this on average, whatever the font.
double text_width(std::string_view text, double size) { return 0.6 * size * display_width(text); }

void add_text(std::ostream& out, point at, double size, double room, std::string_view attributes,
              std::string_view text) {
  out << "<text x='" << at.x << "' y='" << at.y << "' font-size='" << size << "' " << attributes << ">";
  for (char const c : fitted(text, static_cast<int>(room / text_width("x", size)))) {
    if (c == '&') out << "&amp;";
    else if (c == '<') out << "&lt;";
    else if (c == '>') out << "&gt;";
    else out << c;
  }
  out << "</text>\n";
}

void add_line(std::ostream& out, point from, point to, std::string_view attributes) {
  out << "<line x1='" << from.x << "' y1='" << from.y << "' x2='" << to.x << "' y2='" << to.y << "' " << attributes
      << "/>\n";
}

std::string pen_of(std::size_t curve) {
  std::string const dashes = curve / palette.size() % 2 == 1 ? "' stroke-dasharray='5 4" : "";
  return "fill='none' stroke-width='1.6' stroke='" + std::string(palette[curve % palette.size()]) + dashes + "'";
}

// A curve cut at its gaps, with no more than the lowest and the highest point of every half pixel.
std::vector<std::vector<point>> strokes(std::vector<double> const& xs, std::vector<double> const& ys, scale const& x,
                                        scale const& y, box const& in) {
  std::vector<std::vector<point>> result;
  bool after_gap = true;
  int kept = 0;  // points in the present half pixel
  for (std::size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
    point const now{x(xs[i]) * in.width, (1 - y(ys[i])) * in.height};
    bool const missing = std::isnan(now.x) || std::isnan(now.y);
    if (!missing) {
      if (after_gap) result.emplace_back();
      auto& stroke = result.back();
      if (stroke.empty() || std::floor(2 * stroke.back().x) != std::floor(2 * now.x)) kept = 0;
      stroke.push_back(now);
      if (++kept == 3) {
        auto const last = stroke.end() - 3;
        auto const [low, high] = std::minmax_element(last, stroke.end(), [](point a, point b) { return a.y < b.y; });
        stroke.erase(last + (3 - (low - last) - (high - last)));
        kept = 2;
      }
    }
    after_gap = missing;
  }
  return result;
}

// Steps in tenths of a pixel make a file half as long as places would.
void add_path(std::ostream& out, std::vector<point> const& points, std::string_view end) {
  double x = 0, y = 0;
  char const* command = "M";
  for (point const p : points) {
    double const next_x = std::round(10 * p.x), next_y = std::round(10 * p.y);
    out << command << (next_x - x) / 10 << ' ' << (next_y - y) / 10;
    x = next_x;
    y = next_y;
    command = *command == 'M' ? "l" : " ";
  }
  out << end;
}

void add_curves(std::ostream& out, chart const& c, scale const& x, scale const& y, box const& in) {
  // An inner svg element cuts off what is outside of it.
  out << "<svg x='" << in.x << "' y='" << in.y << "' width='" << in.width << "' height='" << in.height << "'>\n";
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    auto const& [name, xs, ys, low, high] = c.curves[i];
    auto const floor = strokes(xs, low, x, y, in), ceiling = strokes(xs, high, x, y, in);
    out << "<path fill-opacity='0.16' fill='" << palette[i % palette.size()] << "' d='";
    for (std::size_t k = 0; k < std::min(floor.size(), ceiling.size()); ++k) {
      auto outline = floor[k];
      outline.insert(outline.end(), ceiling[k].rbegin(), ceiling[k].rend());
      add_path(out, outline, "z");
    }
    out << "'/>\n<path " << pen_of(i) << " stroke-linecap='round' stroke-linejoin='round' d='";
    for (auto const& stroke : strokes(xs, ys, x, y, in)) add_path(out, stroke, "h0");
    out << "'/>\n";
  }
  out << "</svg>\n";
}

void add_grid(std::ostream& out, chart const& c, scale const& x, scale const& y, box const& in) {
  double const bottom = in.y + in.height;
  for (tick const& t : y.ticks(std::max(3, static_cast<int>(in.height / 25)))) {
    double const at = in.y + (1 - y(t.value)) * in.height;
    bool const zero = t.value == 0;
    add_line(out, {in.x, at}, {in.x + in.width, at}, zero ? "stroke='#aaa'" : "stroke='#e8e8e8'");
    add_text(out, {in.x - 8, at + 4}, 11, left, "fill='#666' text-anchor='end'", t.label);
  }
  for (tick const& t : x.ticks(std::max(3, static_cast<int>(in.width / 60)))) {
    double const at = in.x + x(t.value) * in.width;
    add_line(out, {at, in.y}, {at, bottom + 4}, "stroke='#e8e8e8'");
    add_text(out, {at, bottom + 18}, 11, left, "fill='#666' text-anchor='middle'", t.label);
  }
  add_line(out, {in.x, bottom}, {in.x + in.width, bottom}, "stroke='#888'");
  add_text(out, {in.x + in.width / 2, bottom + 36}, 12, in.width, "fill='#666' text-anchor='middle'", c.x.label);
}

// Rows of names below the chart; returns where they end.
double add_legend(std::ostream& out, chart const& c, point at, double width) {
  constexpr double sample = 22, row = 19;
  point next = at;
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    double const room = std::min(text_width(c.curves[i].name, 12), width - sample - 6);
    if (next.x > at.x && next.x + sample + 6 + room > at.x + width) next = {at.x, next.y + row};
    add_line(out, {next.x, next.y - 4}, {next.x + sample, next.y - 4}, pen_of(i));
    add_text(out, {next.x + sample + 6, next.y}, 12, room + 1, "fill='#333'", c.curves[i].name);
    next.x += sample + 6 + room + 16;
  }
  return next.y + row;
}

// Returns where the chart ends, which is below `in` if it has a legend.
double add_chart(std::ostream& out, chart const& c, box const& in) {
  scale const x = x_scale(c), y = y_scale(c);
  box const plot{in.x + left, in.y + above, in.width - left - right, in.height - above - below};
  add_text(out, {in.x, in.y + 14}, 14, in.width, dark, c.title);
  add_text(out, {in.x, in.y + 34}, 12, in.width, grey, c.y.label);
  add_grid(out, c, x, y, plot);
  add_curves(out, c, x, y, plot);
  double const end = in.y + in.height;
  return c.curves.size() > 1 ? add_legend(out, c, {plot.x, end + 14}, plot.width) : end;
}

}  // namespace

std::string svg(std::vector<chart> const& charts, svg_page const& page) {
  auto const within = [](double low, double value, double high) { return std::min(high, std::max(low, value)); };
  double const width = within(200, page.chart_width, 5000), height = within(160, page.chart_height, 5000);
  std::size_t const across =
      std::clamp<std::size_t>(charts.size(), 1, static_cast<std::size_t>(std::max(1, page.charts_per_row)));
  double const page_width = 2 * border - gap + static_cast<double>(across) * (width + gap);

  std::ostringstream body;
  body.imbue(std::locale::classic());
  double bottom = border;
  if (!page.title.empty()) add_text(body, {border, bottom += 16}, 20, page_width - 2 * border, dark, page.title);
  if (!page.subtitle.empty()) add_text(body, {border, bottom += 24}, 13, page_width - 2 * border, grey, page.subtitle);
  if (bottom > border) bottom += gap;

  double top = bottom;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i % across == 0 && i > 0) top = bottom + gap;
    double const x = border + static_cast<double>(i % across) * (width + gap);
    bottom = std::max(bottom, add_chart(body, charts[i], {x, top, width, height}));
  }

  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << page_width << "' height='" << bottom + border
      << "' font-family='system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif'>\n"
      << "<rect width='100%' height='100%' fill='#fff'/>\n" << body.str() << "</svg>\n";
  return out.str();
}

}  // namespace charts
